#pragma once

#include "base/term.h"
