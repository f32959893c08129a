// What messages of further APIs hold beside those of OpenAI and Anthropic: Cohere's plans and documents, AG-UI's calls and
// media, the parts of the AI SDK, and Bedrock's blocks, which have no type. Part of the table in settings.ts.

import { ofTypes, type PlacedSettings } from './form.js'
import { BLOCKS, SAID } from './settings.js'

const OF_COHERE: PlacedSettings = {
  [SAID]: { text: 'tool_plan' },
  [ofTypes(BLOCKS, 'document')]: { inner: 'document' },
  document: { texts: 'data', id: 'id' },
  'citations citation': { inner: 'sources' },
  sources: { id: 'id', texts: 'document tool_output' },
}

const OF_AG_UI: PlacedSettings = {
  [SAID]: { inner: 'toolCalls' },
  'messages message': { id: 'toolCallId', type: 'activityType', signature: 'encryptedValue' },
  toolCalls: { id: 'id', inner: 'function', signature: 'encryptedValue' },
  [ofTypes(BLOCKS, 'binary')]: { file: 'data url', mime: 'mimeType' },
  [ofTypes(BLOCKS, 'audio video')]: { inner: 'source' },
  'source:data source:url': { file: 'value', mime: 'mimeType' },
}

const OF_AI_SDK: PlacedSettings = {
  [SAID]: { inner: 'parts' },
  parts: {
    text: 'text errorText',
    id: 'id toolCallId sourceId',
    name: 'toolName',
    mime: 'mediaType',
    word: 'state',
    url: 'url',
    open: 'approval providerMetadata callProviderMetadata resultProviderMetadata',
  },
  'parts:tool-* parts:dynamic-tool': { jsonCall: 'input rawInput', json: 'output' },
  'parts:file': { file: 'url' },
  approval: { id: 'id' },
  'providerMetadata callProviderMetadata resultProviderMetadata': {
    open: 'openai anthropic google',
  },
  'openai anthropic google': {
    id: 'itemId',
    signature: 'signature reasoningEncryptedContent thoughtSignature',
    blob: 'redactedData',
  },
}

const OF_BEDROCK: PlacedSettings = {
  [BLOCKS]: {
    inner: 'toolUse reasoningContent guardContent image document video',
    json: 'json',
    result: 'toolResult',
    open: 'cachePoint',
  },
  system: { open: 'cachePoint', inner: 'guardContent' },
  toolUse: { jsonCall: 'input', id: 'toolUseId', name: 'name' },
  toolResult: { inner: 'content', id: 'toolUseId', word: 'status' },
  reasoningContent: { inner: 'reasoningText', blob: 'redactedContent' },
  reasoningText: { signature: 'signature' },
  guardContent: { inner: 'text image' },
  'image document video': { inner: 'source', word: 'format' },
  source: { file: 'bytes', text: 'text', open: 's3Location' },
  s3Location: { url: 'uri', id: 'bucketOwner' },
  text: { word: 'qualifiers' },
}

/** What messages of further APIs hold. */
export const OF_OTHER_MESSAGES: readonly PlacedSettings[] = [
  OF_COHERE,
  OF_AG_UI,
  OF_AI_SDK,
  OF_BEDROCK,
]
