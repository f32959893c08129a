// Errors as servers of every API answer them.

/** Bodies of errors, most of which can be events too. */
export const ERRORS: Readonly<Record<string, object>> = {
  OpenAI: {
    error: {
      message: 'No such model.',
      type: 'invalid_request_error',
      param: 'messages[0].content',
      code: 'model_not_found',
    },
  },
  'the Responses API': {
    type: 'error',
    sequence_number: 3,
    code: 'server_error',
    message: 'No.',
    param: null,
    error: { message: 'No.', type: 'server_error', code: 'server_error', param: null },
  },
  Groq: { error: { message: 'No.', code: 'tool_use_failed', failed_generation: '<function=f>' } },
  Azure: {
    error: {
      message: 'Filtered.',
      code: 'content_filter',
      param: 'prompt',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { hate: { filtered: true, severity: 'high' } },
      },
    },
  },
  vLLM: { object: 'error', message: 'No.', type: 'BadRequestError', param: null, code: 400 },
  LiteLLM: {
    error: {
      message: 'litellm.BadRequestError: No.',
      type: null,
      param: null,
      code: '400',
      provider_specific_fields: { note: 'No.' },
    },
  },
  FastAPI: {
    detail: [
      {
        type: 'missing',
        loc: ['body', 'messages', 0],
        msg: 'Field required',
        input: { role: 'user' },
        ctx: { error: 'No.' },
        url: 'https://a.example/v/missing',
      },
    ],
  },
  'FastAPI, a word': { detail: 'Not Found' },
  Anthropic: {
    type: 'error',
    request_id: 'req_011CS',
    error: { type: 'overloaded_error', message: 'Overloaded' },
  },
  Gemini: {
    error: {
      code: 429,
      message: 'Quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'API_KEY_INVALID',
          domain: 'googleapis.com',
          metadata: { service: 'a.example' },
        },
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'contents[0].parts', description: 'No.' }],
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '35s' },
      ],
    },
  },
  Bedrock: { message: 'Malformed input request: no.', __type: 'ValidationException' },
  Cohere: { id: 'c-1', message: 'too many tokens' },
  Mistral: {
    object: 'error',
    message: { detail: [{ type: 'missing', loc: ['body'], msg: 'No.' }] },
    type: 'invalid_request_error',
    param: null,
    code: '1300',
  },
  'Hugging Face': { error: 'Overloaded', error_type: 'overloaded', errors: ['No.'] },
  'problem details': { type: 'about:blank', title: 'No.', status: 400, detail: 'No.' },
}
