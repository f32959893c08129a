// Runs before each file of the integration tests.

import { showLogsOfFailures } from './stack.js'

showLogsOfFailures()
