// Removes from a message of an MCP server the list items that its caller may not use.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import { Budget } from '../../extauthz/cel/budget.js'
import type { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import {
  type AskedLists,
  type FoundList,
  type ListItem,
  listsIn,
  withoutItems,
} from '../../extauthz/mcp/lists.js'
import type { CompiledRules } from '../../extauthz/rules/judge.js'
import { isListed } from '../../extauthz/rules/listed.js'
import type { Ending } from '../../kit/ending.js'
import { applyEdits, type JsonText, readJsonTextInTurns } from '../../kit/json/json-text.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { err, ok, type Result } from '../../kit/result.js'
import { inTurns, nextTurn, Pace } from '../../kit/turns.js'

/** The caller of a list, and the rules that its items are checked with. */
export interface ListCaller {
  readonly asked: AskedLists
  readonly attributes: Attributes
  /** Result of rulesOfLists(). */
  readonly rules: CompiledRules
  /** Rules that cost much, and the budget of each item. */
  readonly costly: CostlyExpressions
  /** Ends when nobody waits for the list any more. */
  readonly ending: Ending
}

const UNAWAITED = 'nobody waits for it any more'

/** Items judged without a pause; each may spend a whole budget, about 5 ms. */
const ITEMS_AT_ONCE = 2

/** Returns the very same text if nothing is hidden. The error is a sentence without any of the text. */
export async function filterMessage(
  text: string,
  caller: ListCaller,
): Promise<Result<string, string>> {
  const json = await inTurns(readJsonTextInTurns(text), caller.ending)
  if (json === undefined) return err(UNAWAITED)
  if (!json.ok) return err(json.error)
  const lists = listsOf(json.value, caller.asked)
  if (!lists.ok) return lists
  const edits = []
  for (const list of lists.value) edits.push(...withoutItems(list, await hiddenOf(list, caller)))
  if (edits.length === 0) return ok(text)
  const filtered = await inTurns(applyEdits(text, edits, new Pace()), caller.ending)
  return filtered === undefined ? err(UNAWAITED) : ok(filtered)
}

function listsOf({ root }: JsonText, asked: AskedLists): Result<readonly FoundList[], string> {
  try {
    return ok(listsIn(root, asked))
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}

async function hiddenOf(
  { items, protocolVersions }: FoundList,
  { rules, attributes, costly, ending }: ListCaller,
): Promise<ReadonlySet<ListItem>> {
  const hidden = new Set<ListItem>()
  for (const [index, item] of items.entries()) {
    if (costly.has(rules)) await costly.turn(rules)
    else if (index > 0 && index % ITEMS_AT_ONCE === 0) await nextTurn()
    if (ending.aborted) break
    const isShown = protocolVersions.every((protocolVersion) => {
      const budget = new Budget(costly.limits)
      const isAllowed = isListed(rules, attributes, { ...item.call, protocolVersion }, budget)
      costly.note(rules, budget)
      return isAllowed
    })
    if (!isShown) hidden.add(item)
  }
  return hidden
}
