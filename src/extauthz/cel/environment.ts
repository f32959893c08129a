// Defines the variables, functions and limits of expressions; undeclared names are rejected.

import { Environment } from '@marcbachmann/cel-js'
import { registerFunctions } from './functions.js'

/** Maximum length of an expression, in characters (decision 28). */
export const MAX_EXPRESSION_LENGTH = 16_384

/** The environment of all expressions. */
export const ruleEnvironment = new Environment({
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits: {
    maxDepth: 64,
    maxAstNodes: 4000,
    maxListElements: 1000,
    maxMapEntries: 200,
    maxCallArguments: 16,
  },
})
  .registerVariable('jwt', 'dyn')
  .registerVariable('request', 'dyn')
  .registerVariable('source', 'dyn')
  .registerVariable('llmRequest', 'dyn')
  .registerVariable({
    name: 'mcp',
    schema: {
      method: 'string',
      id: 'dyn',
      protocolVersion: 'string',
      tool: { name: 'string', arguments: 'dyn' },
      prompt: { name: 'string' },
      resource: { uri: 'string' },
    },
  })
registerFunctions(ruleEnvironment)
