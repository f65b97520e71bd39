#pragma once

#include "base/human.h"
