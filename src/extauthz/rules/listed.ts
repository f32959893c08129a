// Decides whether an item of a list is shown to a caller, by judging the rules as if the caller used the item.

import type { Attributes } from '../cel/attributes.js'
import type { Budget } from '../cel/budget.js'
import type { Rule } from '../cel/rule.js'
import type { ReadCall } from '../mcp/http-message.js'
import { NO_ID } from '../mcp/mcp-problem.js'
import type { McpCall } from '../mcp/message.js'
import { isNormalResource } from '../mcp/resource-uri.js'
import { readsOfMcp } from './compile-rules.js'
import { type CompiledRules, judge } from './judge.js'
import { mcpAttributes } from './mcp-attributes.js'

/**
 * Returns the rules that apply to lists. The arguments are not known yet, so rules that read them hide nothing; nor do
 * scopes.
 */
export function rulesOfLists({
  deny,
  require,
  allow,
  readResources,
}: CompiledRules): CompiledRules {
  const isAllowAny = allow.some(readsArguments)
  return {
    deny: deny.filter((rule) => !readsArguments(rule)),
    require: require.filter((rule) => !readsArguments(rule)),
    allow: isAllowAny ? [] : allow,
    scopes: [],
    readTokenAlone: false,
    readResources,
  }
}

const OF_ARGUMENTS = ['*', 'tool', 'tool.arguments', 'id']

const readsArguments = (rule: Rule): boolean => readsOfMcp(rule, OF_ARGUMENTS)

/**
 * rules: result of rulesOfLists(). budget: the item's own, as a long list is no reason to hide its end.
 * protocolVersion: that of the request for the list, as the client would use the item with the same one.
 */
export function isListed(
  rules: CompiledRules,
  attributes: Attributes,
  call: McpCall & Pick<ReadCall, 'protocolVersion'>,
  budget: Budget,
): boolean {
  if (rules.readResources && !isNormalResource(call)) return false
  const mcp = mcpAttributes({ ...call, id: NO_ID, text: '' })
  return judge(rules, { ...attributes, mcp }, budget).fault === undefined
}
