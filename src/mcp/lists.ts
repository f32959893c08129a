// The lists of MCP (tools, prompts, resources, templates) in an answer of a server → the same without what is hidden, byte
// for byte elsewhere.

import type { JsonNode } from '../json/json-node.js'
import type { Edit } from '../json/json-text.js'
import { type JsonObjectNode, member, present } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import { type McpCall, NO_CALL } from './message.js'

interface ListKind {
  /** Of the result. */
  readonly member: string
  /** Of an item. */
  readonly name: string
  /** What using an item is. */
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

export const isListMethod = (method: string): boolean => Object.hasOwn(LISTS, method)

/** A request for a list: its id as JSON text. */
export interface AskedList {
  readonly id: string
  readonly method: string
}

/** Lists of an answer that were asked for; "all": whatever is a list, as nobody knows what was asked for. */
export type AskedLists = readonly AskedList[] | 'all'

export interface FoundList {
  readonly items: readonly ListItem[]
  /** The value of cacheScope, where it is not "private". */
  readonly cacheScope: JsonNode | undefined
}

export interface ListItem {
  readonly node: JsonNode
  readonly call: McpCall
}

/** root: of an answer, or of a batch of them. @throws UnreadableForm where an answer that was asked for is none. */
export function listsIn(root: JsonNode, text: string, asked: AskedLists): readonly FoundList[] {
  const answers = root.type === 'array' ? root.items : [root]
  const kindsOf = kindsById(asked)
  return answers.flatMap((answer) => listsOf(answer, text, kindsOf))
}

type KindsOf = (id: unknown) => readonly ListKind[]

function listsOf(answer: JsonNode, text: string, kindsOf: KindsOf): readonly FoundList[] {
  if (answer.type !== 'object') throw new UnreadableForm('a message is not an object')
  const result = present(member(answer, 'result'))
  if (result === undefined) return []
  const kinds = kindsOf(idOf(answer, text))
  if (kinds.length === 0) return []
  if (result.type !== 'object') throw new UnreadableForm('a result is not an object')
  return kinds.flatMap((kind) => listOf(result, kind))
}

/** A batch asks for thousands, and as many answers come. */
function kindsById(asked: AskedLists): KindsOf {
  if (asked === 'all') return () => Object.values(LISTS)
  const kinds = new Map<unknown, Set<ListKind>>()
  for (const { id, method } of asked) {
    const kind = LISTS[method]
    if (kind === undefined) continue
    const value: unknown = JSON.parse(id)
    const known = kinds.get(value)
    if (known === undefined) kinds.set(value, new Set([kind]))
    else known.add(kind)
  }
  return (id) => [...(kinds.get(id) ?? [])]
}

/** Longer than any that was asked with, each of its characters escaped. */
const LONGEST_ID = 4096

/** undefined: none that was asked with. */
function idOf(answer: JsonObjectNode, text: string): unknown {
  const id = member(answer, 'id')
  if (id === undefined) return null
  if (id.end - id.start > LONGEST_ID) return undefined
  return JSON.parse(text.slice(id.start, id.end))
}

function listOf(result: JsonObjectNode, kind: ListKind): readonly FoundList[] {
  const list = member(result, kind.member)
  if (list === undefined) return []
  if (list.type !== 'array') throw new UnreadableForm('a list is none')
  const items = list.items.map((node) => ({ node, call: kind.call(nameOf(node, kind)) }))
  const scope = member(result, 'cacheScope')
  const isPrivate = scope === undefined || (scope.type === 'string' && scope.value === 'private')
  return [{ items, cacheScope: isPrivate ? undefined : scope }]
}

function nameOf(item: JsonNode, { name }: ListKind): string {
  const node = item.type === 'object' ? member(item, name) : undefined
  if (node?.type !== 'string') throw new UnreadableForm(`an item has no ${name}`)
  return node.value
}

/** hidden: items of the list. What the list says depends on the caller: nobody else may be given it. */
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
