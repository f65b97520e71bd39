#pragma once

/* Where a new supervisor finds the connection of the command line that started it. */
#define SUPERVISOR_FD 3
