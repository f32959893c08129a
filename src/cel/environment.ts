// Defines the variables, functions and limits of expressions; undeclared names are rejected.

import { Environment } from '@marcbachmann/cel-js'
import { registerFunctions } from './functions.js'
import { registerMacros } from './macros.js'

/** Maximum length of an expression, in characters (decision 28). */
export const MAX_EXPRESSION_LENGTH = 16_384

const OPTIONS = {
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
}

/** Parses the source before calls are renamed; only the syntax tree is used. */
export const syntaxEnvironment = new Environment(OPTIONS).registerFunction(
  'default(ast, ast): dyn',
  () => ({ typeCheck: () => undefined, evaluate: () => undefined }),
  { async: false },
)

/** The environment of all expressions. */
export const ruleEnvironment = new Environment(OPTIONS)
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
registerMacros(ruleEnvironment)
