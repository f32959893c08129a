// Runs before each file of the integration tests.

import { showLogsOfFailures } from './gatehouse.js'

showLogsOfFailures()
