// Reads the definitions of tools, where inspectTools asks for it: every string that is not a setting.

import type { JsonNode } from '../../../kit/json/json-node.js'
import type { Work } from '../../../kit/turns.js'
import { type Form, type Holds, holdsOf, openForm } from './form.js'
import { type At, below, foundJson, type FoundText, foundText, lookAt } from './found-text.js'
import { formBelow } from './schema.js'
import { isWord } from './settings.js'
import { isPlainName, isShaped } from './shapes.js'

/** Definitions of tools, and of what MCP has beside them. */
const DEFINITION = openForm({
  '': { type: 'type', open: 'cache_control' },
  'tools tool functions function custom functionDeclarations function_declarations prompts resources resourceTemplates arguments':
    {
      name: 'name server_label mcp_server_name allowed_tools allowed_callers',
      id: 'connector_id vector_store_ids container',
      word: `require_approval search_context_size background moderation input_fidelity environment quality output_format
          behavior execution`,
      model: 'model',
      size: 'size',
      url: 'server_url url uri',
      mime: 'mimeType',
      credential: 'authorization',
      schema: `parameters input_schema inputSchema outputSchema output_schema parametersJsonSchema
          parameters_json_schema response responseJsonSchema response_json_schema`,
      open: `function custom functionDeclarations function_declarations tools arguments headers user_location
          ranking_options format filters input_image_mask computerUse computer_use googleSearch google_search
          fileSearch retrieval`,
    },
  // Bedrock's tools.
  toolConfig: { open: 'tools toolChoice' },
  tools: { open: 'toolSpec systemTool cachePoint' },
  toolSpec: { name: 'name', open: 'inputSchema' },
  inputSchema: { schema: 'json' },
  toolChoice: { open: 'tool auto any' },
  'tool systemTool': { name: 'name' },
  // Of the requests to a tool's server.
  headers: {
    credential: 'Authorization authorization X-API-Key X-Api-Key x-api-key Api-Key api-key',
  },
  'allowed_tools never always': { name: 'tool_names' },
  require_approval: { open: 'never always' },
  container: { id: 'file_ids', size: 'memory_limit' },
  environment: { id: 'container_id' },
  user_location: { code: 'country', zone: 'timezone' },
  cache_control: { size: 'ttl' },
  ranking_options: { type: 'ranker' },
  filters: { name: 'key', open: 'filters' },
  input_image_mask: { id: 'file_id', url: 'image_url' },
  'googleSearch google_search': { open: 'timeRangeFilter time_range_filter' },
  'timeRangeFilter time_range_filter': { date: 'startTime endTime start_time end_time' },
  fileSearch: { id: 'fileSearchStoreNames file_search_store_names' },
  retrieval: { open: 'vertexAiSearch vertex_ai_search vertexRagStore vertex_rag_store' },
  'vertexAiSearch vertex_ai_search': { id: 'datastore engine' },
  'vertexRagStore vertex_rag_store': { open: 'ragResources rag_resources' },
  'ragResources rag_resources': { id: 'ragCorpus ragFileIds rag_corpus rag_file_ids' },
  format: { word: 'syntax', open: 'grammar' },
  grammar: { word: 'syntax' },
  'computerUse computer_use': {
    word: 'environment',
    name: 'excludedPredefinedFunctions excluded_predefined_functions',
  },
})

/** Maximum number of texts of definitions in an event that are separate; more are shown as their JSON. */
const MOST_APART = 8

const OF_DEFINITION = { kind: 'definition', role: 'tool_definition' } as const

/** Reads a definition, or a list of them. A string or a list in its place is a text. name: the member that it is. */
export function* sweepDefinitions(
  node: JsonNode,
  name: string,
  at: At,
  out: FoundText[],
): Work<void> {
  const begun = out.length
  for (const [index, item] of (node.type === 'array' ? node.items : [node]).entries()) {
    if (at.json.pace.isDue()) yield
    const own = below(at, index)
    if (item.type === 'string') out.push(foundText(item, own))
    else if (item.type === 'array') out.push(yield* foundJson(item, own))
    else if (at.json.inspects.tools)
      yield* sweepDefinition(item, { name, holds: 'open' }, DEFINITION, own, out)
  }
  // Webhooks are asked about each text of an event separately.
  const isMany = at.channel !== undefined && out.length - begun > MOST_APART
  if (!isMany || out.slice(begun).some(({ kind }) => kind !== 'definition')) return
  out.splice(begun, out.length, { ...(yield* foundJson(node, at)), ...OF_DEFINITION })
}

interface Member {
  readonly name: string
  readonly holds: Holds | undefined
}

/** member: the one that the value is, or an item of. form: that of its objects. */
function* sweepDefinition(
  node: JsonNode,
  member: Member,
  form: Form,
  at: At,
  out: FoundText[],
): Work<void> {
  const { name, holds } = member
  const { pace } = at.json
  if (pace.isDue()) yield
  if (node.type === 'string') {
    const setting =
      holds === undefined ? isWord(name, node.value) : isShaped(holds, node.value, pace)
    if (node.value === '' || (typeof setting === 'boolean' ? setting : yield* setting)) return
    out.push({ ...foundText(node, at), ...OF_DEFINITION })
  } else if (node.type === 'array') {
    lookAt(node.items.length, at.json)
    for (const [index, item] of node.items.entries())
      yield* sweepDefinition(item, member, form, below(at, index), out)
  } else if (node.type === 'object') {
    lookAt(node.members.size, at.json)
    for (const inner of node.members.keys())
      // A name can be text too, so the whole object is shown, as JSON.
      if (!isPlainName(inner))
        return void out.push({ ...(yield* foundJson(node, at)), ...OF_DEFINITION })
    for (const [inner, value] of node.members) {
      const held = holdsOf(form, undefined, name, inner)
      yield* sweepDefinition(
        value,
        { name: inner, holds: held },
        formBelow(form, inner, held),
        below(at, inner),
        out,
      )
    }
  }
}
