// The stack of config/compose/beside-an-existing-envoy.yaml.

import { declareStackTests } from './support/stack-tests.js'

declareStackTests('config/compose/beside-an-existing-envoy.yaml')
