// The table of all settings: members of LLM bodies and events whose strings are not text, by the object that has them,
// each with the shape that such a string must have (decision 19b). A member elsewhere, or of another shape, is text.
// request-settings.ts has those of requests outside their messages.

import { ofTypes, openForm, type PlacedSettings } from './form.js'

/** Any object of an API may have these. */
const EVERYWHERE: PlacedSettings = {
  '': { type: 'type', open: 'cache_control' },
  cache_control: { size: 'ttl', word: 'scope' },
}

const FILTERS = `hate self_harm sexual violence jailbreak profanity indirect_attack protected_material_code
  protected_material_text`

/** What Azure's content filter found. */
const FILTERED: PlacedSettings = {
  'content_filter_results content_filter_result': { open: FILTERS },
  [FILTERS.replaceAll(/\s+/g, ' ')]: { word: 'severity' },
}

/** Members that contain messages. */
export const SAID = 'messages message delta'
/** Members that contain parts or blocks. */
export const BLOCKS = 'content content_block'

/** Messages and blocks of chat completions and of Anthropic's messages. */
export const OF_MESSAGES: PlacedSettings = {
  ...EVERYWHERE,
  'messages message': { id: 'id tool_call_id', word: 'role status phase', open: 'attachments' },
  attachments: { id: 'file_id', open: 'tools' },
  choices: {
    id: 'index',
    word: 'finish_reason native_finish_reason stop_reason',
    open: 'content_filter_results content_filter_result',
  },
  ...FILTERED,
  delta: {
    id: 'id tool_call_id container_id',
    word: 'role stop_reason phase',
    signature: 'signature',
    blob: 'encrypted_content',
  },
  tool_calls: { id: 'id index', open: 'extra_content' },
  extra_content: { open: 'google' },
  google: { signature: 'thought_signature' },
  'function function_call custom': { name: 'name' },
  [ofTypes(BLOCKS, 'tool_use server_tool_use mcp_tool_use')]: { name: 'name' },
  [BLOCKS]: {
    id: 'id tool_use_id file_id',
    name: 'server_name mcp_server_name tool_name',
    word: 'stop_reason file_type',
    type: 'error_code',
    date: 'retrieved_at',
    url: 'url',
    mime: 'media_type mime_type',
    open: 'from to trigger caller image_file',
    signature: 'signature',
    blob: 'encrypted_content encrypted_index encrypted_stdout',
  },
  'from to': { model: 'model' },
  trigger: { word: 'category' },
  caller: { id: 'tool_id' },
  image_url: { word: 'detail' },
  image_file: { id: 'file_id', word: 'detail' },
  source: { mime: 'media_type', url: 'url', id: 'file_id' },
  file: { id: 'file_id' },
  audio: { id: 'id', word: 'format' },
  input_audio: { word: 'format' },
  reasoning_details: { id: 'id', type: 'format', signature: 'signature' },
  // LiteLLM's thoughts of Anthropic's models.
  thinking_blocks: { signature: 'signature' },
  annotations: { url: 'url', id: 'file_id', open: 'url_citation file_citation' },
  'url_citation file_citation': { url: 'url', id: 'file_id' },
  'citations citation': { url: 'url', id: 'file_id', blob: 'encrypted_index' },
  tool_references: { name: 'tool_name' },
}

/** Items and parts of OpenAI's Responses API. */
export const OF_ITEMS: PlacedSettings = {
  ...EVERYWHERE,
  item: {
    id: 'id call_id approval_request_id container_id created_by',
    name: 'server_label namespace',
    blob: 'encrypted_content',
    size: 'size',
    word: 'role status phase execution background output_format quality',
    open: 'pending_safety_checks acknowledged_safety_checks caller environment',
  },
  'item:reasoning': { signature: 'encrypted_content' },
  [ofTypes('item data', 'function_call custom_tool_call mcp_call mcp_approval_request')]: {
    name: 'name',
  },
  caller: { id: 'caller_id' },
  environment: { id: 'container_id' },
  'pending_safety_checks acknowledged_safety_checks': { id: 'id', type: 'code' },
  'content part output': {
    id: 'id file_id',
    word: 'detail status',
    url: 'url file_url',
    open: 'outcome',
    blob: 'encrypted_content',
  },
  outputs: { url: 'url' },
  results: { id: 'file_id' },
  input_audio: { word: 'format' },
  'annotations annotation': { url: 'url', id: 'file_id container_id' },
  error: { type: 'code' },
  prompt: { id: 'id version' },
}

/** Gives each name its other spelling too, as in all JSON of protobuf. */
export const inBothSpellings = (settings: PlacedSettings): PlacedSettings =>
  Object.fromEntries(
    Object.entries(settings).map(([owners, held]) => [
      bothOf(owners),
      Object.fromEntries(Object.entries(held).map(([holds, names]) => [holds, bothOf(names)])),
    ]),
  )

const bothOf = (names: string): string =>
  `${names} ${names.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

/** Contents and candidates of Gemini. */
export const OF_CONTENTS: PlacedSettings = inBothSpellings({
  parts: { signature: 'thoughtSignature', open: 'fileData videoMetadata mediaResolution' },
  'functionCall functionResponse': { id: 'id', name: 'name', word: 'scheduling' },
  'toolCall toolResponse': { id: 'id', name: 'name', word: 'toolType' },
  partialArgs: { path: 'jsonPath' },
  inlineData: { mime: 'mimeType' },
  fileData: { mime: 'mimeType', url: 'fileUri' },
  videoMetadata: { number: 'startOffset endOffset' },
  mediaResolution: { word: 'level' },
  executableCode: { id: 'id', word: 'language' },
  codeExecutionResult: { id: 'id', word: 'outcome' },
  candidates: {
    word: 'finishReason',
    open: 'safetyRatings citationMetadata groundingMetadata urlContextMetadata',
  },
  safetyRatings: { word: 'category probability severity' },
  citationMetadata: { open: 'citationSources citations' },
  'citationSources citations': { url: 'uri' },
  groundingMetadata: { open: 'groundingChunks searchEntryPoint' },
  groundingChunks: { open: 'web retrievedContext maps image' },
  'web retrievedContext': { url: 'uri' },
  maps: { url: 'uri', id: 'placeId' },
  image: { url: 'sourceUri imageUri' },
  searchEntryPoint: { blob: 'sdkBlob' },
  urlContextMetadata: { open: 'urlMetadata' },
  urlMetadata: { url: 'retrievedUrl', word: 'urlRetrievalStatus' },
})

/** Options that replies repeat. */
export const OPTIONS: PlacedSettings = {
  ...EVERYWHERE,
  tool_choice: {
    name: 'name server_label',
    word: 'mode',
    open: 'function custom allowed_tools tools',
  },
  allowed_tools: { word: 'mode', open: 'tools' },
  'tools function custom': { name: 'name server_label', open: 'function' },
  text: { word: 'verbosity', open: 'format' },
  // Some servers take the schema itself in this place.
  'format json_schema': {
    name: 'name required',
    schema: 'schema items',
    schemas: 'properties $defs definitions',
  },
  reasoning: { word: 'effort', summary: 'summary generate_summary' },
  context_management: { open: 'edits applied_edits' },
  edits: { open: 'trigger clear_at_least', word: 'keep', name: 'exclude_tools' },
  keep: { type: 'type' },
  container: { id: 'id', date: 'expires_at', open: 'skills' },
  skills: { id: 'skill_id version' },
  conversation: { id: 'id' },
}

/** An error of a server. */
const OF_ERROR: PlacedSettings = {
  '': { open: 'error errors detail details' },
  reply: { name: 'type error_type', id: 'code', path: 'param', word: 'status' },
  'error errors detail details fieldViolations innererror': {
    name: 'type',
    id: 'code domain request_id @type',
    word: 'status',
    number: 'retryDelay',
    path: 'param loc field',
    open: 'fieldViolations innererror',
    type: 'reason',
  },
  innererror: { open: 'content_filter_result content_filter_results' },
}

/** A whole reply outside the model's words, and what such replies and events contain at their top level. */
export const OF_REPLY: PlacedSettings = {
  ...OPTIONS,
  ...inBothSpellings({
    usageMetadata: {
      word: 'trafficType serviceTier',
      open: 'promptTokensDetails candidatesTokensDetails cacheTokensDetails toolUsePromptTokensDetails',
    },
    'promptTokensDetails candidatesTokensDetails cacheTokensDetails toolUsePromptTokensDetails': {
      word: 'modality',
    },
    promptFeedback: { word: 'blockReason', open: 'safetyRatings' },
    modelStatus: { word: 'modelStage', date: 'retirementTime' },
    safetyRatings: { word: 'category probability severity' },
  }),
  reply: {
    id: 'id request_id responseId response_id previous_response_id conversation container',
    type: 'object',
    model: 'model modelVersion model_version',
    date: 'createTime create_time',
    retention: 'prompt_cache_retention',
    name: 'system_fingerprint provider',
    key: 'user safety_identifier prompt_cache_key',
    // Perplexity's sources.
    url: 'citations',
    word: 'status role stop_reason service_tier truncation tool_choice',
    open: `usage usageMetadata usage_metadata promptFeedback prompt_feedback incomplete_details text reasoning error prompt prompt_filter_results
      context_management promptTokensDetails prompt_tokens_details modelStatus model_status stop_details billing x_groq
      search_results images`,
  },
  stop_details: { word: 'category' },
  billing: { word: 'payer' },
  x_groq: { id: 'id' },
  search_results: { url: 'url', date: 'date last_updated' },
  images: { url: 'image_url origin_url' },
  error: { name: 'type', id: 'code', path: 'param', word: 'status' },
  prompt_filter_results: { open: 'content_filter_results' },
  ...FILTERED,
  usage: { word: 'service_tier inference_geo speed' },
  incomplete_details: { word: 'reason' },
  prompt: { id: 'id version' },
}

/** What chunks of choices have beside what whole replies have. */
export const OF_CHUNK: PlacedSettings = { reply: { padding: 'obfuscation p' } }
/** The same for Anthropic's events. */
export const OF_MESSAGE_EVENT: PlacedSettings = {
  reply: { open: 'delta' },
  delta: { word: 'stop_reason', id: 'container', open: 'container' },
}
/** The same for events of OpenAI's responses. */
export const OF_RESPONSE_EVENT: PlacedSettings = {
  reply: { id: 'item_id', name: 'name', padding: 'obfuscation' },
}

/** Lists and descriptions, which answer a GET. */
const OF_LISTS: PlacedSettings = {
  reply: { id: 'first_id last_id', open: 'data models' },
  'data models': {
    id: 'id parent root',
    name: 'owned_by',
    type: 'object',
    word: 'status role purpose',
    blob: 'embedding',
    model: 'model name',
    date: 'created_at',
    open: 'permission',
  },
  permission: { id: 'id', type: 'object' },
}

/** Objects of the model's words, wherever they are in a reply that is of no form. */
const OF_STORED: PlacedSettings = {
  'reply data': { open: 'choices content output candidates' },
  choices: { open: 'message delta' },
  'message delta': { open: 'content tool_calls annotations audio reasoning_details' },
  candidates: { open: 'content' },
  content: { open: 'parts annotations citations source' },
  output: { id: 'call_id', name: 'name server_label' },
  tool_calls: { open: 'function custom' },
}

/** The form of JSON that is no reply of a model: errors, lists, stored objects. */
export const ANSWER = openForm(
  OF_ERROR,
  OF_REPLY,
  OF_LISTS,
  OF_STORED,
  OF_MESSAGES,
  OF_CONTENTS,
  OF_ITEMS,
)

/** Words that an object of no API may have as its type or role. */
const WORDS: ReadonlySet<string> = new Set(
  `assistant developer function model system tool user array boolean integer null number object string document image
  image_url input_text json_object json_schema message output_text reasoning refusal summary_text text text_delta thinking
  tool_result tool_use`.split(/\s+/),
)

/** Whether a member of an object that no API has is such a word. */
export const isWord = (name: string, value: string): boolean =>
  (name === 'type' || name === 'role') && WORDS.has(value)
