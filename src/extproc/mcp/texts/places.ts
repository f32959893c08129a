// The table of settings of MCP: which strings of a message are not text, by the object of MCP that has them, each with
// the shape that such a string must have (decision 35). A string elsewhere, or of another shape, is text.

import type { ShapeName } from '../../llm/text/shapes.js'

/** An object of MCP, wherever a message has one. */
export interface McpPlace {
  /** Its settings. */
  readonly settings: ReadonlyMap<string, ShapeName>
  /** Members that contain objects of MCP, or lists of them. All others contain only texts. */
  readonly inner: ReadonlyMap<string, McpPlace>
  /** The same for members of any name. */
  readonly each: McpPlace | undefined
  /** Members in base64, or addresses of media. */
  readonly files: ReadonlySet<string>
}

/** Shapes of what one side sends and the other must send back as it was. */
const SENT_BACK: ReadonlySet<string | undefined> = new Set<ShapeName>(['echoed', 'blob'])

/**
 * Whether a member of an object must reach the other side as it is: an id, a cursor, or requestState. Another value would
 * leave a call without its answer.
 */
export const isSentBack = ({ settings }: McpPlace, name: string): boolean =>
  SENT_BACK.has(settings.get(name))

/** Shape, or files → names, with spaces between. */
type Names = Readonly<Partial<Record<ShapeName | 'files', string>>>

const namesIn = (names: string): readonly string[] =>
  names.split(/\s+/).filter((name) => name !== '')

function place(
  names: Names,
  inner: Readonly<Record<string, McpPlace>> = {},
  each?: McpPlace,
): McpPlace {
  const { files = '', ...shapes } = names
  return {
    settings: new Map(
      Object.entries(shapes).flatMap(([shape, list]) =>
        namesIn(list).map((name) => [name, shape as ShapeName] as const),
      ),
    ),
    inner: new Map(
      Object.entries(inner).flatMap(([list, below]) =>
        namesIn(list).map((name) => [name, below] as const),
      ),
    ),
    each,
    files: new Set(namesIn(files)),
  }
}

/** An object whose members may contain objects of its own kind. */
function nested(
  names: Names,
  inner: (self: McpPlace) => Readonly<Record<string, McpPlace>>,
): McpPlace {
  const known = new Map<string, McpPlace>()
  const self: McpPlace = { ...place(names), inner: known }
  for (const [name, below] of place({}, inner(self)).inner) known.set(name, below)
  return self
}

/** What no type of MCP describes, such as arguments and structured content: every string is text. */
export const TEXT = place({})

const ICONS = { icons: place({ files: 'src', mime: 'mimeType', word: 'theme', size: 'sizes' }) }
const IMPLEMENTATION = place({ id: 'name version', uri: 'websiteUrl' }, ICONS)

const META = {
  _meta: place(
    {
      echoed: 'progressToken io.modelcontextprotocol/subscriptionId',
      id: 'traceparent tracestate',
      date: 'io.modelcontextprotocol/protocolVersion',
      word: 'io.modelcontextprotocol/logLevel',
    },
    {
      'io.modelcontextprotocol/clientInfo io.modelcontextprotocol/serverInfo': IMPLEMENTATION,
      'io.modelcontextprotocol/related-task': place({ echoed: 'taskId' }),
    },
  ),
}

const ANNOTATED = {
  ...META,
  ...ICONS,
  annotations: place({ word: 'audience', date: 'lastModified' }),
}

/** A resource, its template, or its contents. */
const RESOURCE = place(
  { id: 'name', uri: 'uri uriTemplate', mime: 'mimeType', files: 'blob' },
  ANNOTATED,
)

/** A block of content. */
const CONTENT = nested(
  {
    type: 'type',
    echoed: 'id toolUseId',
    id: 'name',
    uri: 'uri',
    mime: 'mimeType',
    files: 'data',
  },
  (self) => ({ ...ANNOTATED, resource: RESOURCE, content: self }),
)

/** Whether a member holds the content of one message or result, which a model reads as one. */
export const isContent = ({ inner }: McpPlace, name: string): boolean =>
  name === 'content' && inner.get(name) === CONTENT

const MESSAGE = place({ word: 'role' }, { ...META, content: CONTENT })

const SCHEMA = nested(
  { jsonType: 'type', word: 'format', id: 'required $id $ref', uri: '$schema' },
  (self) => ({
    'items anyOf oneOf allOf additionalProperties': self,
    'properties $defs definitions': place({}, {}, self),
  }),
)

const TOOL = place(
  { id: 'name' },
  {
    ...META,
    ...ICONS,
    'inputSchema outputSchema': SCHEMA,
    execution: place({ word: 'taskSupport' }),
  },
)

const PROMPT = place({ id: 'name' }, { ...META, ...ICONS, arguments: place({ id: 'name' }) })

const OF_TASK = { echoed: 'taskId', word: 'status', date: 'createdAt lastUpdatedAt' } as const
const TASK = place(OF_TASK, META)

/** What a request asks for. The results of earlier requests may be in its parameters, and requests in results. */
export const PARAMS = nested(
  {
    echoed: `${OF_TASK.echoed} cursor requestId elicitationId progressToken`,
    id: 'name logger',
    word: `${OF_TASK.word} level mode`,
    date: `${OF_TASK.date} protocolVersion`,
    uri: 'uri url',
    name: 'includeContext',
    blob: 'requestState',
  },
  (self) => ({
    ...META,
    clientInfo: IMPLEMENTATION,
    ref: place({ id: 'type name', uri: 'uri' }),
    argument: place({ id: 'name' }),
    messages: MESSAGE,
    modelPreferences: place({}, { hints: place({ id: 'name' }) }),
    toolChoice: place({ word: 'mode' }),
    tools: TOOL,
    requestedSchema: SCHEMA,
    notifications: place({ uri: 'resourceSubscriptions' }),
    inputResponses: place({}, {}, resultWith(self)),
  }),
)

function resultWith(params: McpPlace): McpPlace {
  return place(
    {
      echoed: `${OF_TASK.echoed} nextCursor`,
      id: 'model',
      word: `${OF_TASK.word} role action`,
      date: `${OF_TASK.date} protocolVersion supportedVersions`,
      name: 'resultType cacheScope stopReason',
      blob: 'requestState',
    },
    {
      ...META,
      serverInfo: IMPLEMENTATION,
      content: CONTENT,
      messages: MESSAGE,
      'contents resources resourceTemplates': RESOURCE,
      roots: place({ id: 'name', uri: 'uri' }, META),
      prompts: PROMPT,
      tools: TOOL,
      'task tasks': TASK,
      inputRequests: place({}, {}, place({ id: 'method' }, { params })),
    },
  )
}

/** A message of JSON-RPC. */
export const ENVELOPE = place(
  { echoed: 'id', id: 'jsonrpc method' },
  { params: PARAMS, result: resultWith(PARAMS) },
)
