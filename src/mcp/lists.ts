// Removes hidden items from the lists of MCP (tools, prompts, resources, templates) in a server's answer. Everything
// else stays the same, byte for byte.

import type { JsonNode } from '../json/json-node.js'
import type { Edit } from '../json/json-text.js'
import { type JsonObjectNode, member, present } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import { type McpCall, NO_CALL } from './message.js'

interface ListKind {
  /** Member of the result that holds the list. */
  readonly member: string
  /** Member of an item that identifies it. */
  readonly name: string
  /** Returns the call that uses an item. */
  call(name: string): McpCall
}

const LISTS: Readonly<Record<string, ListKind>> = {
  'tools/list': {
    member: 'tools',
    name: 'name',
    call: (toolName) => ({ ...NO_CALL, method: 'tools/call', toolName }),
  },
  'prompts/list': {
    member: 'prompts',
    name: 'name',
    call: (promptName) => ({ ...NO_CALL, method: 'prompts/get', promptName }),
  },
  'resources/list': {
    member: 'resources',
    name: 'uri',
    call: (resourceUri) => ({ ...NO_CALL, method: 'resources/read', resourceUri }),
  },
  'resources/templates/list': {
    member: 'resourceTemplates',
    name: 'uriTemplate',
    call: (resourceUri) => ({ ...NO_CALL, method: 'resources/read', resourceUri }),
  },
}

/** Whether the method asks for a list. */
export const isListMethod = (method: string): boolean => Object.hasOwn(LISTS, method)

/** A request for a list. id: JSON text. */
export interface AskedList {
  readonly id: string
  readonly method: string
  /** Version in the body of the request, which a use of an item repeats; absent: none. */
  readonly protocolVersion?: string
}

/** The lists that were requested; "all": whatever is a list, because the requests are unknown. */
export type AskedLists = readonly AskedList[] | 'all'

/** A list in an answer. */
export interface FoundList {
  readonly items: readonly ListItem[]
  /** The value of cacheScope; undefined if it is absent or "private". */
  readonly cacheScope: JsonNode | undefined
  /** Versions in the requests for it, "" where there is none; at least one. */
  readonly protocolVersions: readonly string[]
}

/** An item of a list, and the call that uses it. */
export interface ListItem {
  readonly node: JsonNode
  readonly call: McpCall
}

/** root: an answer, or a batch of answers. @throws UnreadableForm when a requested answer is not a list. */
export function listsIn(root: JsonNode, text: string, asked: AskedLists): readonly FoundList[] {
  const answers = root.type === 'array' ? root.items : [root]
  const kindsOf = kindsById(asked)
  return answers.flatMap((answer) => listsOf(answer, text, kindsOf))
}

/** Kinds of lists, with the versions in the requests for them. */
type Kinds = ReadonlyMap<ListKind, ReadonlySet<string>>
type KindsOf = (id: unknown) => Kinds

const NO_KINDS: Kinds = new Map()
const NO_VERSION: ReadonlySet<string> = new Set([''])
const ALL_KINDS: Kinds = new Map(Object.values(LISTS).map((kind) => [kind, NO_VERSION]))

function listsOf(answer: JsonNode, text: string, kindsOf: KindsOf): readonly FoundList[] {
  if (answer.type !== 'object') throw new UnreadableForm('a message is not an object')
  const result = present(member(answer, 'result'))
  if (result === undefined) return []
  const kinds = kindsOf(idOf(answer, text))
  if (kinds.size === 0) return []
  if (result.type !== 'object') throw new UnreadableForm('a result is not an object')
  return [...kinds].flatMap(([kind, versions]) => listOf(result, kind, versions))
}

/** Returns a lookup by id, because a batch may contain thousands of requests and answers. */
function kindsById(asked: AskedLists): KindsOf {
  if (asked === 'all') return () => ALL_KINDS
  const all = new Map<unknown, Map<ListKind, Set<string>>>()
  for (const { id, method, protocolVersion = '' } of asked) {
    const kind = LISTS[method]
    if (kind === undefined) continue
    const value = comparable(JSON.parse(id))
    const kinds = all.get(value) ?? new Map<ListKind, Set<string>>()
    all.set(value, kinds.set(kind, (kinds.get(kind) ?? new Set()).add(protocolVersion)))
  }
  return (id) => all.get(id) ?? NO_KINDS
}

/** Returns the same for 7 and "7", as clients that compare ids as numbers or texts take either for an answer. */
function comparable(id: unknown): unknown {
  const number = typeof id === 'string' && id.trim() !== '' ? Number(id) : Number.NaN
  return Number.isNaN(number) ? id : number
}

/** Longer than the id of any request, even with all characters escaped. */
const LONGEST_ID = 4096

/** undefined: too long for the id of any request. */
function idOf(answer: JsonObjectNode, text: string): unknown {
  const id = member(answer, 'id')
  if (id === undefined) return null
  if (id.end - id.start > LONGEST_ID) return undefined
  return comparable(JSON.parse(text.slice(id.start, id.end)))
}

function listOf(
  result: JsonObjectNode,
  kind: ListKind,
  versions: ReadonlySet<string>,
): readonly FoundList[] {
  const list = member(result, kind.member)
  if (list === undefined) return []
  if (list.type !== 'array') throw new UnreadableForm('a list is none')
  const items = list.items.map((node) => ({ node, call: kind.call(nameOf(node, kind)) }))
  const scope = member(result, 'cacheScope')
  const isPrivate = scope === undefined || (scope.type === 'string' && scope.value === 'private')
  return [{ items, cacheScope: isPrivate ? undefined : scope, protocolVersions: [...versions] }]
}

function nameOf(item: JsonNode, { name }: ListKind): string {
  const node = item.type === 'object' ? member(item, name) : undefined
  if (node?.type !== 'string') throw new UnreadableForm(`an item has no ${name}`)
  return node.value
}

/**
 * hidden: items of the list. An existing cacheScope becomes "private": the list depends on the caller, and nobody else
 * may get it.
 */
export function withoutItems(list: FoundList, hidden: ReadonlySet<ListItem>): readonly Edit[] {
  const { items, cacheScope } = list
  const scope = cacheScope === undefined ? [] : [{ ...spanOf(cacheScope), json: '"private"' }]
  const lastKept = items.findLastIndex((item) => !hidden.has(item))
  const edits = items.flatMap((item, index): readonly Edit[] => {
    if (!hidden.has(item) || index > lastKept) return []
    return [
      { start: item.node.start, end: items[index + 1]?.node.start ?? item.node.end, json: '' },
    ]
  })
  const end = items.at(-1)?.node.end
  if (end === undefined || lastKept === items.length - 1) return [...scope, ...edits]
  const start = items[lastKept]?.node.end ?? items[0]?.node.start ?? end
  return [...scope, ...edits, { start, end, json: '' }]
}

const spanOf = ({ start, end }: JsonNode): { start: number; end: number } => ({ start, end })
