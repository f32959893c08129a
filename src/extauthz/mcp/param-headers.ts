// Headers Mcp-Param-… (revision 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters"): each
// repeats an argument of a tool call. Which one, only the tool's schema says, and that nobody knows here.

import type { JsonNode } from '../../kit/json/json-node.js'
import { Pace, unitsOf, type Work } from '../../kit/turns.js'
import { decodedHeader, type HttpHeaderValues } from './header-values.js'
import { McpProblem } from './mcp-problem.js'
import type { McpMessage } from './message.js'

/** What the names of these headers begin with. */
export const PARAM_PREFIX = 'mcp-param-'

/**
 * Expects each header to repeat an argument: that of its name, if there is one, else any. text: what the message was read
 * from. @throws McpProblem for a header that contradicts the arguments.
 */
export function* assertParams(
  { calls, id }: McpMessage,
  headers: HttpHeaderValues,
  text: string,
): Work<undefined> {
  const params = [...headers].filter(([name]) => name.startsWith(PARAM_PREFIX))
  if (params.length === 0) return
  const given: Arguments = { all: new Set(), byName: new Map() }
  for (const { toolArguments } of calls)
    if (toolArguments !== undefined)
      yield* collect(toolArguments, { text, given, pace: new Pace() })
  for (const [name, value] of params)
    if (!repeats(value, given.byName.get(plain(name.slice(PARAM_PREFIX.length))) ?? given.all))
      throw new McpProblem(
        'header-mismatch',
        `Header mismatch: ${name} repeats no argument of the body`,
        id,
      )
}

/** Values of arguments, in the form of comparable(). */
interface Arguments {
  readonly all: Set<string>
  /** By plain(); those of one name, at any depth. */
  readonly byName: Map<string, Set<string>>
}

interface Collecting {
  readonly text: string
  readonly given: Arguments
  readonly pace: Pace
}

/** Headers repeat no items of lists. */
function* collect(node: JsonNode, context: Collecting): Work<undefined> {
  if (node.type !== 'object') return
  const { given, pace } = context
  for (const [name, value] of node.members) {
    if (pace.isDue(unitsOf(name.length))) yield
    if (value.type === 'object') yield* collect(value, context)
    else if (value.type !== 'array') note(plain(name), valueOf(value, context.text), given)
  }
}

function note(name: string, value: string | undefined, { all, byName }: Arguments): void {
  const named = byName.get(name) ?? new Set()
  byName.set(name, named)
  if (value === undefined) return
  named.add(value)
  all.add(value)
}

/** undefined: null, which no header repeats. */
function valueOf(node: JsonNode, text: string): string | undefined {
  if (node.type === 'string') return node.value
  return node.type === 'null' ? undefined : comparable(text.slice(node.start, node.end))
}

function repeats(value: string | readonly string[], values: ReadonlySet<string>): boolean {
  const text = typeof value === 'string' ? decodedHeader(value) : undefined
  return text !== undefined && (values.has(text) || values.has(comparable(text)))
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i
const INTEGER = /^-?\d+$/

/** Writes equal numbers alike (42.0, 42), and whole ones of any size as they are. */
const comparable = (text: string): string =>
  INTEGER.test(text) || !NUMBER.test(text) ? text : String(Number(text))

/** What names of headers and of arguments have in common: Mcp-Param-User-Id, userId. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '')
