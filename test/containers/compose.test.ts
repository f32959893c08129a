// The stack of docker-compose.yml.

import { declareStackTests } from './support/stack-tests.js'

declareStackTests('docker-compose.yml')
