// ProxyPolicy: who may use a route (tokens, rules), and the settings of its webhooks and backends. The translation
// reports rules that span fields as conditions; they are not errors here (decisions 3 and 4).

import { z } from 'zod'
import type { Json } from '../../../model/json.js'
import { authorization } from './authorization.js'
import { backendRef, duration, group, kind, name } from './fields.js'
import { guards, mcpGuards } from './guard-webhooks.js'
import { relay } from './relay.js'
import { rateLimit, transformation } from './traffic.js'

const targetRef = z.object({
  group: group()
    .describe(
      'API group of the target: empty for a Service, the policy API group for a ProxyBackend.',
    )
    .meta({ example: 'gateway.networking.k8s.io' }),
  kind: kind()
    .describe('HTTPRoute, Gateway, ListenerSet, Service or ProxyBackend.')
    .meta({ example: 'HTTPRoute' }),
  name: name()
    .describe('Name of the target, in the namespace of the policy.')
    .meta({ example: 'mcp' }),
  sectionName: name()
    .optional()
    .describe('A listener of the target Gateway or ListenerSet; absent: all of them.')
    .meta({ example: 'https', since: '0.2.0' }),
})

const jwks = z.object({
  remote: z
    .object({
      backendRef: backendRef().describe('The Service or ProxyBackend that serves the keys.'),
      jwksPath: z
        .string()
        .min(1)
        .max(2048)
        .transform((path) => (path.startsWith('/') ? path : `/${path}`))
        .optional()
        .describe(
          "Path of the key set on the backend. With mcp.provider IdpTwo it may be left out: the project's own path is derived from the issuer.",
        )
        .meta({ example: '/oauth/jwks' }),
    })
    .optional()
    .describe('Keys that are fetched from a backend and kept fresh.'),
  inline: z
    .string()
    .min(2)
    .max(65_536)
    .optional()
    .describe('A JSON key set (RFC 7517), instead of remote.')
    .meta({ example: '{"keys":[…]}' }),
})

const provider = z.object({
  issuer: z
    .string()
    .min(1)
    .describe('Equals the iss claim exactly, with its slash at the end where it has one.')
    .meta({ example: 'https://idp.example/realms/mcp' }),
  audiences: z
    .array(z.string().min(1))
    .min(1)
    .max(64)
    .optional()
    .describe('One of them must be in the aud claim. Absent: aud is not checked.')
    .meta({ example: ['https://mcp.example/mcp'] }),
  jwks: jwks.describe('Where the keys come from: exactly one of remote and inline.'),
})

const resourceMetadata = z
  .object({
    resource: z
      .string()
      .regex(/^https?:\/\/[^/?#\s][^#\s]*$/, 'is not an absolute http or https URL')
      .optional()
      .describe('URL of the MCP server as clients know it; published as written.')
      .meta({ example: 'https://mcp.example/mcp' }),
    scopesSupported: z
      .array(z.string().min(1))
      .optional()
      .describe('Published as scopes_supported; what clients ask the identity provider for.')
      .meta({ example: ['openid', 'mcp'] }),
    bearerMethodsSupported: z
      .array(z.string().min(1))
      .optional()
      .describe('Published as bearer_methods_supported; the gateway reads tokens from the header.')
      .meta({ example: ['header'] }),
  })
  .catchall(z.custom<Json>())

const mcp = z.object({
  provider: z
    .enum(['IdpOne', 'IdpTwo'], {
      error: 'IdpOne is authentik and IdpTwo is Descope; leave the field out for any other',
    })
    .optional()
    .describe(
      'The product that metadata and registration are adapted to: IdpOne is authentik, IdpTwo is Descope. Absent: any other.',
    ),
  clientId: z
    .string()
    .min(1)
    .optional()
    .describe('The pre-registered public OAuth client that registration answers with.')
    .meta({ example: 'mcp-client' }),
  resourceMetadata: resourceMetadata
    .optional()
    .describe(
      'Protected resource metadata (RFC 9728). Other members are published too, in snake_case.',
    )
    .meta({ example: { resource: 'https://mcp.example/mcp' } }),
  authorizationServer: z
    .enum(['Gateway', 'Provider', 'Relay'])
    .default('Gateway')
    .describe(
      "Which authorization server the resource metadata names. Gateway: the gateway's MCP URL, with metadata made of the provider's. Provider: the issuer of the provider itself, where clients discover and register. Relay: the gateway itself, which logs clients in at the provider with mcp.clientId.",
    )
    .meta({ since: '0.2.0' }),
  relay: relay
    .optional()
    .describe('How the gateway relays logins, with authorizationServer Relay.')
    .meta({ since: '0.2.0' }),
  allowedOrigins: z
    .array(
      z
        .string()
        .max(2048)
        .regex(/^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#\s@]+)$/, 'is not an origin'),
    )
    .min(1)
    .max(64)
    .optional()
    .describe(
      'Origins of the web pages that may call the MCP server, such as https://app.example; a request with another Origin is 403. "*" is any. Absent: Origin is not looked at.',
    )
    .meta({ example: ['https://app.example'], since: '0.2.0' }),
  filterLists: z
    .boolean()
    .default(false)
    .describe(
      'Take out of tools/list, prompts/list, resources/list and resources/templates/list what the rules refuse the caller. Needs rules that read mcp.',
    )
    .meta({ since: '0.2.0' }),
  bindSession: z
    .boolean()
    .default(false)
    .describe(
      "Bind each session of the MCP server to the caller who began it: clients get its Mcp-Session-Id sealed together with the issuer and subject of their token, and another caller's, or one that is not sealed, is 404. The keys are those of relay.keyRef, else of --relay-key-file.",
    )
    .meta({ since: '0.3.0' }),
  metadataIssuer: z
    .enum(['Provider', 'Gateway'])
    .optional()
    .describe(
      "Whose issuer the server metadata names: the identity provider's, or the gateway's MCP URL as clients that hold RFC 8414 section 3.3 need it. Absent: the setting --metadata-issuer.",
    ),
  challengeDetails: z
    .boolean()
    .default(false)
    .describe("Add RFC 6750's error, error_description and scope to the challenge of a 401."),
  corsHeaders: z
    .enum(['Extended', 'AsWritten'])
    .default('Extended')
    .describe(
      "Extended adds the headers that MCP clients in a browser need to the route's CORS filter.",
    ),
})

const jwtAuthentication = z.object({
  mode: z
    .enum(['Strict', 'Optional', 'Permissive'])
    .default('Strict')
    .describe(
      'Strict: a valid token is required. Optional: no token passes, a bad one does not. Permissive: nothing is refused.',
    ),
  providers: z.array(provider).min(1).max(64).describe('Who may issue tokens.'),
  mcp: mcp.optional().describe('What MCP clients need to know to log in.'),
  forwardToken: z
    .boolean()
    .default(false)
    .describe('Leave the Authorization header on requests to the backend.'),
})

/** ProxyPolicy spec (specification: ProxyPolicy). */
export const proxyPolicySpec = z.object({
  targetRefs: z
    .array(targetRef)
    .min(1)
    .max(16)
    .describe(
      'What the policy is for, in its own namespace: routes, backends (Services and ProxyBackends), or Gateways for whose routes it is the default.',
    ),
  mode: z
    .enum(['Enforce', 'Audit'])
    .default('Enforce')
    .describe(
      'Enforce: the policy is in force. Audit: its denials are logged and counted, and nothing is denied or changed. Policies of each mode are merged separately, and those of mode Enforce always decide.',
    )
    .meta({ example: 'Audit', since: '0.2.0' }),
  traffic: z
    .object({
      jwtAuthentication: jwtAuthentication.optional().describe('Bearer tokens (JWT).'),
      authorization: authorization.optional().describe('Rules over the claims and the request.'),
      rateLimit: rateLimit.optional().describe('How many requests pass.').meta({ since: '0.2.0' }),
      transformation: transformation
        .optional()
        .describe('Headers that are set, added or removed.')
        .meta({ since: '0.2.0' }),
    })
    .optional()
    .describe(
      'For targets of kind HTTPRoute: what happens to their requests. For a Gateway: defaults for its routes; a member that a policy of the route has replaces the one of the Gateway, whole.',
    ),
  backend: z
    .object({
      ai: z
        .object({
          promptGuard: z
            .object({
              request: guards.describe('Asked before the LLM gets the prompt, in this order.'),
              response: guards.describe('Asked before the client gets the reply, in this order.'),
              signedTexts: z
                .enum(['Strip', 'Refuse'])
                .default('Strip')
                .describe(
                  'What happens when a webhook changes a text that its provider has signed, such as a thought. Strip: the signature is removed, and from a request the whole thought. Refuse: the change counts as a reject.',
                )
                .meta({ example: 'Refuse', since: '0.3.0' }),
            })
            .optional()
            .describe('Guardrail webhooks.'),
        })
        .optional()
        .describe('LLM traffic.'),
      mcp: z
        .object({
          guard: z
            .object({
              request: mcpGuards
                .describe(
                  'Asked about each message of the client before the MCP server gets it, in this order: the arguments of tool calls, and what the client answers to the server.',
                )
                .meta({ since: '0.2.0' }),
              response: mcpGuards
                .describe(
                  'Asked about each message of the server before the client gets it, in this order: results of tools, errors, notifications, and requests to the client.',
                )
                .meta({ since: '0.2.0' }),
            })
            .optional()
            .describe('Guardrail webhooks.')
            .meta({ since: '0.2.0' }),
        })
        .optional()
        .describe('MCP traffic.')
        .meta({ since: '0.2.0' }),
      http: z
        .object({
          requestTimeout: duration()
            .refine((milliseconds) => milliseconds >= 1, 'requestTimeout must be at least 1ms')
            .optional()
            .describe(
              'The longest that a complete answer of the targeted backend may take: the deadline of a webhook, and the timeout of routes to it.',
            )
            .meta({ example: '30s' }),
        })
        .optional()
        .describe('For targets of kind Service and ProxyBackend.'),
    })
    .optional()
    .describe('What the backends are held to.'),
})

/** A decoded ProxyPolicy spec. */
export type ProxyPolicySpec = z.infer<typeof proxyPolicySpec>
