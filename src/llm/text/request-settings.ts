// The settings of requests outside their messages: part of the table in settings.ts.

import { openForm, type PlacedSettings } from './form.js'
import { inBothSpellings, OPTIONS } from './settings.js'

/** The body of a request to OpenAI, Anthropic and servers like them. */
const OF_REQUEST: PlacedSettings = {
  ...OPTIONS,
  request: {
    ...{ model: 'model models', key: 'user safety_identifier prompt_cache_key request_id' },
    ...{ id: 'previous_response_id conversation container', size: 'keep_alive size' },
    ...{ type: 'include anthropic_version', beta: 'betas anthropic_beta' },
    retention: 'prompt_cache_retention',
    word: `service_tier reasoning_effort verbosity truncation encoding_format modalities tool_choice
      response_format format speed inference_geo quality response_role input_type truncate function_call`,
    open: `reasoning text audio thinking cache_control output_config context_management compaction mcp_servers provider
      web_search_options stream_options plugins`,
    schema: 'guided_json json_schema',
  },
  response_format: { open: 'json_schema', schema: 'schema' },
  function_call: { name: 'name' },
  audio: { name: 'voice', word: 'format' },
  voice: { id: 'id' },
  thinking: { word: 'display' },
  output_config: { word: 'effort', open: 'format' },
  mcp_servers: {
    ...{ url: 'url', name: 'name', credential: 'authorization_token' },
    open: 'tool_configuration',
  },
  tool_configuration: { name: 'allowed_tools' },
  web_search_options: { word: 'search_context_size', open: 'user_location' },
  user_location: { code: 'country', open: 'approximate' },
  approximate: { code: 'country' },
  provider: { id: 'order only ignore', word: 'sort data_collection quantizations' },
  plugins: { id: 'id', word: 'engine' },
}

/** The form of a request's members outside its messages. */
export const REQUEST = openForm(OF_REQUEST)

/** The same for Gemini. */
export const GEMINI_REQUEST = openForm(
  inBothSpellings({
    request: {
      ...{ model: 'model', id: 'cachedContent', word: 'serviceTier' },
      open: 'generationConfig toolConfig safetySettings',
    },
    generationConfig: {
      ...{ mime: 'responseMimeType', word: 'responseModalities mediaResolution' },
      ...{ schema: 'responseSchema responseJsonSchema _responseJsonSchema' },
      open: 'thinkingConfig speechConfig imageConfig',
    },
    thinkingConfig: { word: 'thinkingLevel' },
    speechConfig: { code: 'languageCode', open: 'voiceConfig multiSpeakerVoiceConfig' },
    multiSpeakerVoiceConfig: { open: 'speakerVoiceConfigs' },
    speakerVoiceConfigs: { open: 'voiceConfig' },
    voiceConfig: { open: 'prebuiltVoiceConfig' },
    prebuiltVoiceConfig: { name: 'voiceName' },
    imageConfig: { size: 'aspectRatio imageSize', word: 'personGeneration' },
    toolConfig: { open: 'functionCallingConfig retrievalConfig' },
    functionCallingConfig: { word: 'mode', name: 'allowedFunctionNames' },
    retrievalConfig: { code: 'languageCode' },
    safetySettings: { word: 'category threshold method' },
  }),
)
