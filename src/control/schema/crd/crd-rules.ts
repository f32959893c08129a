// Validation rules that span fields (x-kubernetes-validations): the API server rejects what `gatehouse check` rejects,
// with the same messages. Rules that need other objects or compile CEL are left to the status.

import type { Json, JsonObject } from '../../../model/json.js'
import { isJsonObject } from '../../../model/json.js'
import { FRAMING_HEADERS } from '../kinds/guard-webhooks.js'

interface Rule {
  /** A CEL expression over self, the value of the field. */
  readonly rule: string
  /** A sentence, or a CEL expression that evaluates to one. */
  readonly message: string | { readonly expression: string }
}

/** Rules by path below spec; "*" stands for the items of a list, "" for spec itself. */
export type RulesByPath = Readonly<Record<string, readonly Rule[]>>

const ROUTE = `t.group == 'gateway.networking.k8s.io' && t.kind == 'HTTPRoute'`
const GATEWAY = `t.group == 'gateway.networking.k8s.io' && t.kind == 'Gateway'`
const LISTENER_SET = `t.group == 'gateway.networking.k8s.io' && t.kind == 'ListenerSet'`
const HTTP_BACKEND = 'has(self.backend) && has(self.backend.http)'
const SERVICE = `t.group == '' && t.kind == 'Service'`
const AI = 'has(self.backend) && has(self.backend.ai)'
const MCP_GUARD = 'has(self.backend) && has(self.backend.mcp)'
const IDP_TWO = `has(self.mcp) && has(self.mcp.provider) && self.mcp.provider == 'IdpTwo'`

/**
 * Forbids a field for a kind of target (decision 25a). The message omits the target's name: quoting list items exceeds
 * the API server's cost budget.
 */
const misplaced = (field: string, isSet: string, kind: string, target: string): Rule => ({
  rule: `!(${isSet}) || !self.targetRefs.exists(t, ${target})`,
  message: `${field} may not be used with the target ${kind}`,
})

const misplacedOnBackend = (kind: string, target: string): readonly Rule[] => [
  misplaced('traffic', 'has(self.traffic)', kind, target),
  misplaced('backend.ai', AI, kind, target),
  misplaced('backend.mcp', MCP_GUARD, kind, target),
]

const MCP = `has(self.traffic) && has(self.traffic.jwtAuthentication) && has(self.traffic.jwtAuthentication.mcp)`
const ISSUER_URL = `'^https?://[^/?#@\\\\s]+[^?#\\\\s]*$'`
const IDP_TWO_ISSUER = `'^https?://[^/?#@\\\\s]+/v1/apps/agentic/[^/?#\\\\s]+/[^/?#\\\\s]+/*$'`
const NO_KEYS = `!has(p.jwks.remote) && !has(p.jwks.inline)`
/** Only with mcp, where there is exactly one provider. */
const HAS_PLACE = `has(self.providers[0].jwks.inline) || (has(self.providers[0].jwks.remote) && has(self.providers[0].jwks.remote.jwksPath))`
const NO_PATH = `has(p.jwks.remote) && !has(p.jwks.inline) && !has(p.jwks.remote.jwksPath)`

/** A header name (token, RFC 9110 section 5.6.2) or a pseudo-header for a part of the request. */
const HEADER_NAME = "^([!#$%&'*+.^_`|~0-9A-Za-z-]+|:(?i:path|method|authority))$"

const WEBHOOK_RULES: readonly Rule[] = [
  {
    rule: `!has(self.headers) || self.headers.all(name, name.matches("${HEADER_NAME}"))`,
    message: 'this is not a header name',
  },
  {
    rule: '!has(self.headers) || self.headers.all(name, size(name) <= 256)',
    message: 'this key cannot be used here: is too long, expected at most 256 characters',
  },
  {
    rule: `!has(self.headers) || self.headers.all(name, !name.matches('(?i)^(${FRAMING_HEADERS.join('|')})$'))`,
    message: 'this header frames the request and cannot be set',
  },
]

const SYNC_ALONE: Rule = {
  rule: `!has(self.mode) || self.mode == 'Sync'`,
  message:
    'Async is for streamed replies; a prompt cannot be called back, so webhooks of the request phase are Sync',
}

const INTERVAL_RULES: readonly Rule[] = [
  {
    rule: `duration(self) >= duration('10ms') && duration(self) <= duration('10s')`,
    message: 'minInterval must be from 10ms to 10s',
  },
]

/** Rules of a backendRef. The name of a Service does not say which port to connect to. */
const backendRules = (apiGroup: string): readonly Rule[] => [
  {
    rule: `(self.group == '' && self.kind == 'Service') || (self.group == '${apiGroup}' && self.kind == 'ProxyBackend')`,
    message: {
      expression: `'backendRef kind ' + self.kind + ' of group "' + self.group + '" is not known; expected Service of the core group or ProxyBackend of ${apiGroup}'`,
    },
  },
  {
    rule: `self.kind != 'Service' || has(self.port)`,
    message: { expression: `'backendRef to Service ' + self.name + ' needs a port'` },
  },
]

const JWT_RULES: readonly Rule[] = [
  {
    rule: 'has(self.mcp) ? size(self.providers) == 1 : true',
    message: 'jwtAuthentication.mcp requires exactly one provider',
  },
  {
    rule: `has(self.mcp) ? self.mode == 'Strict' : true`,
    message: { expression: `'jwtAuthentication.mcp requires mode Strict, not ' + self.mode` },
  },
  {
    rule: 'has(self.mcp) ? self.providers.all(p, has(p.audiences)) : true',
    message: 'jwtAuthentication.mcp requires audiences',
  },
  {
    rule: `(${IDP_TWO}) || !self.providers.exists(p, ${NO_KEYS})`,
    message: 'jwks: expected exactly one of remote and inline; neither is set',
  },
  {
    rule: `(${IDP_TWO}) || !self.providers.exists(p, ${NO_PATH})`,
    message: 'jwks.remote.jwksPath is needed; only with mcp.provider IdpTwo is it derived',
  },
  {
    rule: `has(self.mcp) ? self.providers[0].issuer.matches(${ISSUER_URL}) : true`,
    message: 'issuer is not an http or https URL, which jwtAuthentication.mcp needs',
  },
  {
    rule: `!(${IDP_TWO}) || ${HAS_PLACE} || self.providers[0].issuer.matches(${IDP_TWO_ISSUER})`,
    message:
      "jwks names no path, and none can be derived from the issuer: IdpTwo's issuers are https://HOST/v1/apps/agentic/PROJECT_ID/SERVER_ID",
  },
]

/** Returns the rules of guardrail webhooks. */
const guardRules = (apiGroup: string): RulesByPath => ({
  'backend.ai.promptGuard.request.*.webhook': [...WEBHOOK_RULES, SYNC_ALONE],
  'backend.ai.promptGuard.request.*.webhook.minInterval': INTERVAL_RULES,
  'backend.ai.promptGuard.request.*.webhook.backendRef': backendRules(apiGroup),
  'backend.ai.promptGuard.response.*.webhook': WEBHOOK_RULES,
  'backend.ai.promptGuard.response.*.webhook.minInterval': INTERVAL_RULES,
  'backend.ai.promptGuard.response.*.webhook.backendRef': backendRules(apiGroup),
  'backend.mcp.guard.request.*.webhook': WEBHOOK_RULES,
  'backend.mcp.guard.request.*.webhook.backendRef': backendRules(apiGroup),
  'backend.mcp.guard.response.*.webhook': WEBHOOK_RULES,
  'backend.mcp.guard.response.*.webhook.backendRef': backendRules(apiGroup),
})

const targetRules = (apiGroup: string): readonly Rule[] => [
  {
    rule: `(self.group == 'gateway.networking.k8s.io' && self.kind in ['HTTPRoute', 'Gateway', 'ListenerSet']) || (self.group == '' && self.kind == 'Service') || (self.group == '${apiGroup}' && self.kind == 'ProxyBackend')`,
    message: {
      expression: `'target ' + self.kind + ' ' + self.name + ' of group "' + self.group + '" is not known; expected HTTPRoute, Gateway or ListenerSet of gateway.networking.k8s.io, Service of the core group or ProxyBackend of ${apiGroup}'`,
    },
  },
  {
    rule: `!has(self.sectionName) || self.kind in ['Gateway', 'ListenerSet']`,
    message: {
      expression: `'targetRefs: sectionName is for the targets Gateway and ListenerSet, not for ' + self.kind + ' ' + self.name`,
    },
  },
]

/** Returns the rules of ProxyPolicy. apiGroup is {policy_api_group} of the specification. */
export const proxyPolicyRules = (apiGroup: string): RulesByPath => ({
  '': [
    {
      rule: `!(${MCP}) || !(has(self.backend) && has(self.backend.ai) && has(self.backend.ai.promptGuard))`,
      message:
        'backend.ai.promptGuard and traffic.jwtAuthentication.mcp exclude each other: the route refuses all traffic',
    },
    {
      rule: `!(has(self.backend) && has(self.backend.ai) && has(self.backend.ai.promptGuard) && has(self.backend.mcp) && has(self.backend.mcp.guard))`,
      message:
        'backend.ai.promptGuard and backend.mcp.guard exclude each other: the route refuses all traffic',
    },
    misplaced('backend.http', HTTP_BACKEND, 'HTTPRoute', ROUTE),
    misplaced('backend.http', HTTP_BACKEND, 'Gateway', GATEWAY),
    misplaced('backend.http', HTTP_BACKEND, 'ListenerSet', LISTENER_SET),
    ...misplacedOnBackend('Service', SERVICE),
    ...misplacedOnBackend('ProxyBackend', `t.group == '${apiGroup}' && t.kind == 'ProxyBackend'`),
  ],
  'targetRefs.*': targetRules(apiGroup),
  'traffic.jwtAuthentication': JWT_RULES,
  'traffic.jwtAuthentication.providers.*.jwks.remote': [
    {
      rule: `!has(self.jwksPath) || !self.jwksPath.matches('[\\\\s#\\\\\\\\\\\\p{Cc}]')`,
      message: { expression: `'jwks.remote.jwksPath "' + self.jwksPath + '" is not a path'` },
    },
  ],
  'traffic.jwtAuthentication.providers.*.jwks.remote.backendRef': backendRules(apiGroup),
  'traffic.jwtAuthentication.providers.*.jwks': [
    {
      rule: '!(has(self.remote) && has(self.inline))',
      message: 'jwks: expected exactly one of remote and inline; both are set',
    },
  ],
  'traffic.jwtAuthentication.mcp.relay.keyRef.*': [
    {
      rule: 'has(self.name) != has(self.file)',
      message: 'mcp.relay.keyRef: expected exactly one of name and file',
    },
    {
      rule: '!has(self.file) || !has(self.key)',
      message: 'mcp.relay.keyRef: key is the member of a Secret; a file has none',
    },
  ],
  'traffic.authorization.policy': [
    {
      rule: 'size(self.matchExpressions) > 0',
      message: 'authorization.policy.matchExpressions is empty; at least one expression is needed',
    },
  ],
  ...guardRules(apiGroup),
  'backend.http.requestTimeout': [
    { rule: `duration(self) >= duration('1ms')`, message: 'requestTimeout must be at least 1ms' },
  ],
})

const CONNECTIONS = 'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS'
const KEEPALIVE = 'GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS'

/** Rules of ProxyParameters. */
export const PROXY_PARAMETERS_RULES: RulesByPath = {
  env: [once(CONNECTIONS), once(KEEPALIVE)],
  'env.*': [
    {
      rule: `self.name in ['${CONNECTIONS}', '${KEEPALIVE}']`,
      message: {
        expression: `self.name + ' is not known; expected one of ${CONNECTIONS}, ${KEEPALIVE}'`,
      },
    },
    atMost(CONNECTIONS, 1_000_000),
    atMost(KEEPALIVE, 86_400),
  ],
}

function once(name: string): Rule {
  return {
    rule: `self.filter(e, e.name == '${name}').size() <= 1`,
    message: `${name} is set twice`,
  }
}

function atMost(name: string, largest: number): Rule {
  return {
    rule: `self.name != '${name}' || (self.value.matches('^[0-9]{1,7}$') && int(self.value) <= ${largest})`,
    message: {
      expression: `'${name} is "' + self.value + '"; expected a whole number from 0 to ${largest}'`,
    },
  }
}

/** Adds the rules to the schema of spec. Throws if the schema lacks a path, as after a field was renamed. */
export function withRules(schema: JsonObject, rules: RulesByPath): JsonObject {
  return Object.entries(rules).reduce(
    (whole, [path, own]) => addAt(whole, path === '' ? [] : path.split('.'), own),
    schema,
  )
}

function addAt(schema: JsonObject, path: readonly string[], rules: readonly Rule[]): JsonObject {
  const [name, ...rest] = path
  if (name === undefined) return { ...schema, 'x-kubernetes-validations': rules.map(written) }
  if (name === '*') return { ...schema, items: addAt(objectOf(schema['items'], name), rest, rules) }
  const properties = objectOf(schema['properties'], name)
  const property = objectOf(properties[name], name)
  return { ...schema, properties: { ...properties, [name]: addAt(property, rest, rules) } }
}

const written = ({ rule, message }: Rule): JsonObject =>
  typeof message === 'string' ? { rule, message } : { rule, messageExpression: message.expression }

function objectOf(json: Json | undefined, name: string): JsonObject {
  if (isJsonObject(json)) return json
  throw new Error(`a rule leads to ${name}, which the schema does not have`)
}
