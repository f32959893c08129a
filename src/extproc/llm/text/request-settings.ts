// The settings of requests outside their messages: part of the table in settings.ts.

import { openForm, type PlacedSettings } from './form.js'
import { inBothSpellings, OPTIONS } from './settings.js'

/** The body of a request to OpenAI, Anthropic and servers like them. */
const OF_REQUEST: PlacedSettings = {
  ...OPTIONS,
  request: {
    model: 'model models',
    key: 'user safety_identifier prompt_cache_key request_id',
    id: 'previous_response_id conversation container agent_id assistant_id',
    size: 'keep_alive size',
    type: 'include anthropic_version',
    beta: 'betas anthropic_beta',
    retention: 'prompt_cache_retention',
    word: `service_tier reasoning_effort verbosity truncation encoding_format modalities tool_choice function_call
      response_format format speed inference_geo quality response_role input_type truncate background moderation
      output_format style stream_format input_fidelity route transforms reasoning_format citation_options search_mode
      search_recency_filter image_format_filter stream_mode prompt_mode safety_mode think task output_dtype
      embedding_type embedding_types guided_decoding_backend samplers`,
    name: 'voice',
    number: 'seconds',
    code: 'search_language_filter language_preference',
    open: `reasoning text audio thinking cache_control output_config context_management compaction mcp_servers provider
      web_search_options stream_options plugins image_config search_parameters structured_outputs data_sources
      tool_resources truncation_strategy extra_body image_data`,
    schema: 'guided_json json_schema',
    // What an image is made from; Ollama's images to look at.
    file: 'image images mask',
  },
  'image images mask': { file: 'image_url url', id: 'file_id' },
  moderation: { model: 'model' },
  citation_options: { word: 'mode' },
  response_format: { open: 'json_schema', schema: 'schema' },
  function_call: { name: 'name' },
  audio: { name: 'voice', word: 'format' },
  voice: { id: 'id' },
  thinking: { word: 'display' },
  output_config: { word: 'effort', open: 'format' },
  mcp_servers: {
    url: 'url',
    name: 'name',
    credential: 'authorization_token',
    open: 'tool_configuration',
  },
  tool_configuration: { name: 'allowed_tools' },
  web_search_options: { word: 'search_context_size search_type', open: 'user_location' },
  user_location: { code: 'country', zone: 'timezone', open: 'approximate' },
  approximate: { code: 'country', zone: 'timezone' },
  provider: { id: 'order only ignore', word: 'sort data_collection quantizations' },
  plugins: { id: 'id', word: 'engine', open: 'pdf' },
  pdf: { word: 'engine' },
  image_data: { blob: 'data' },
  image_config: { size: 'aspect_ratio image_size' },
  search_parameters: { word: 'mode', date: 'from_date to_date', open: 'sources' },
  sources: { code: 'country', url: 'links' },
  structured_outputs: { schema: 'json', word: 'backend' },
  tool_resources: { open: 'code_interpreter file_search' },
  code_interpreter: { id: 'file_ids' },
  file_search: { id: 'vector_store_ids' },
  // Gemini's options in requests of OpenAI.
  extra_body: { open: 'google' },
  google: { id: 'cached_content', open: 'thinking_config safety_settings' },
  thinking_config: { word: 'thinking_level' },
  safety_settings: { word: 'category threshold' },
}

/** Azure's options for answers from the data of a client. */
const OF_DATA_SOURCES: PlacedSettings = {
  data_sources: { open: 'parameters' },
  parameters: {
    url: 'endpoint',
    name: 'index_name semantic_configuration',
    credential: 'key',
    word: 'query_type include_contexts',
    open: 'authentication embedding_dependency fields_mapping',
  },
  authentication: { credential: 'key access_token', id: 'managed_identity_resource_id' },
  embedding_dependency: { name: 'deployment_name', url: 'endpoint', open: 'authentication' },
  fields_mapping: { name: 'content_fields title_field url_field filepath_field vector_fields' },
}

/** AG-UI and the AI SDK. */
const OF_AGENTS: PlacedSettings = {
  request: { id: 'threadId runId parentRunId messageId id', word: 'trigger' },
}

/** Bedrock's options; toolConfig defines tools. */
const OF_BEDROCK: PlacedSettings = {
  request: {
    open: 'inferenceConfig guardrailConfig performanceConfig serviceTier',
    id: 'modelId',
    path: 'additionalModelResponseFieldPaths',
  },
  guardrailConfig: {
    id: 'guardrailIdentifier guardrailVersion',
    word: 'trace streamProcessingMode',
  },
  performanceConfig: { word: 'latency' },
}

/** Mistral's conversations, Gemini's interactions and OpenAI's threads. */
const OF_CONVERSATIONS: PlacedSettings = {
  request: {
    id: 'previous_interaction_id',
    mime: 'response_mime_type',
    model: 'agent',
    word: 'handoff_execution response_modalities role',
    open: 'completion_args generation_config agent_config tool_outputs',
  },
  completion_args: { word: 'tool_choice reasoning_effort', open: 'response_format' },
  generation_config: { word: 'thinking_level thinking_summaries tool_choice' },
  agent_config: { word: 'thinking_summaries' },
  tool_outputs: { id: 'tool_call_id' },
}

/** The form of a request's members outside its messages. */
export const REQUEST = openForm(
  OF_REQUEST,
  OF_DATA_SOURCES,
  OF_AGENTS,
  OF_BEDROCK,
  OF_CONVERSATIONS,
)

/** The same for Gemini. */
export const GEMINI_REQUEST = openForm(
  inBothSpellings({
    request: {
      model: 'model',
      id: 'cachedContent',
      word: 'serviceTier',
      number: 'ttl',
      date: 'expireTime',
      open: 'generationConfig toolConfig safetySettings modelArmorConfig',
    },
    generationConfig: {
      mime: 'responseMimeType',
      word: 'responseModalities mediaResolution',
      schema: 'responseSchema responseJsonSchema _responseJsonSchema',
      open: 'thinkingConfig speechConfig imageConfig routingConfig modelSelectionConfig',
    },
    routingConfig: { open: 'autoMode manualMode' },
    autoMode: { word: 'modelRoutingPreference' },
    manualMode: { model: 'modelName' },
    modelSelectionConfig: { word: 'featureSelectionPreference' },
    modelArmorConfig: { id: 'promptTemplateName responseTemplateName' },
    thinkingConfig: { word: 'thinkingLevel' },
    speechConfig: { code: 'languageCode', open: 'voiceConfig multiSpeakerVoiceConfig' },
    multiSpeakerVoiceConfig: { open: 'speakerVoiceConfigs' },
    speakerVoiceConfigs: { open: 'voiceConfig' },
    voiceConfig: { open: 'prebuiltVoiceConfig replicatedVoiceConfig' },
    replicatedVoiceConfig: { mime: 'mimeType', blob: 'voiceSampleAudio' },
    prebuiltVoiceConfig: { name: 'voiceName' },
    imageConfig: {
      size: 'aspectRatio imageSize',
      word: 'personGeneration',
      open: 'imageOutputOptions',
    },
    imageOutputOptions: { mime: 'mimeType' },
    toolConfig: { open: 'functionCallingConfig retrievalConfig' },
    functionCallingConfig: { word: 'mode', name: 'allowedFunctionNames' },
    retrievalConfig: { code: 'languageCode' },
    safetySettings: { word: 'category threshold method' },
  }),
)
