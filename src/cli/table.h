#pragma once

#include "base/table.h"
