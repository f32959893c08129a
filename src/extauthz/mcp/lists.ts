// Removes hidden items from the lists of MCP (tools, prompts, resources, templates) in a server's answer. Everything
// else stays the same, byte for byte.

import type { JsonNode } from '../../kit/json/json-node.js'
import type { Edit } from '../../kit/json/json-text.js'
import { type JsonObjectNode, member, present } from '../../kit/json/members.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { type McpCall, NO_CALL } from './message.js'

interface ListKind {
  /** Member of the result that holds the list. */
  readonly member: string
  /** Member of an item that identifies it. */
  readonly name: string
  /** Returns the call that uses an item. */
  call(name: string): McpCall
}

const READ: McpCall = { ...NO_CALL, method: 'resources/read' }

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
    call: (resourceUri) => ({ ...READ, resourceUri, resourceForm: 'uri' }),
  },
  'resources/templates/list': {
    member: 'resourceTemplates',
    name: 'uriTemplate',
    call: (resourceUri) => ({ ...READ, resourceUri, resourceForm: 'template' }),
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

/**
 * root: an answer, or a batch of answers. Their ids do not matter: a server may have changed the id of the request.
 * @throws UnreadableForm when a result is not what was requested.
 */
export function listsIn(root: JsonNode, asked: AskedLists): readonly FoundList[] {
  const answers = root.type === 'array' ? root.items : [root]
  const kinds = kindsOf(asked)
  return answers.flatMap((answer) => listsOf(answer, kinds))
}

/** Kinds of lists, with the versions in the requests for them. */
type Kinds = ReadonlyMap<ListKind, ReadonlySet<string>>

const NO_VERSION: ReadonlySet<string> = new Set([''])
const ALL_KINDS: Kinds = new Map(Object.values(LISTS).map((kind) => [kind, NO_VERSION]))

function kindsOf(asked: AskedLists): Kinds {
  if (asked === 'all') return ALL_KINDS
  const kinds = new Map<ListKind, Set<string>>()
  for (const { method, protocolVersion = '' } of asked) {
    const kind = LISTS[method]
    if (kind !== undefined)
      kinds.set(kind, (kinds.get(kind) ?? new Set<string>()).add(protocolVersion))
  }
  return kinds
}

function listsOf(answer: JsonNode, kinds: Kinds): readonly FoundList[] {
  if (answer.type !== 'object') throw new UnreadableForm('a message is not an object')
  const result = present(member(answer, 'result'))
  if (result === undefined) return []
  if (result.type !== 'object') throw new UnreadableForm('a result is not an object')
  return [...kinds].flatMap(([kind, versions]) => listOf(result, kind, versions))
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
