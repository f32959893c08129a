// The ext_proc table entries of a route: OAuth documents to serve, lists to filter, sessions to seal, webhooks that guard
// LLM or MCP traffic.

import type { Authorization } from './authorization.js'
import type { ForGateways } from './for-gateways.js'
import type { JsonObject } from './json.js'
import type { PolicySource } from './policy-source.js'
import type { Relay } from './relay.js'
import type { RemoteTarget } from './remote-target.js'
import type { SessionBinding } from './session-binding.js'

/** A table entry of ext_proc: what it does for one HTTPRoute rule. */
export type ProcEntry =
  | WellKnownEntry
  | GuardEntry
  | GuardAuditEntry
  | ListsEntry
  | SessionsEntry
  | McpGuardEntry
  | McpGuardAuditEntry
  | UncheckedBodyEntry

/** Holds bodies of MCP messages until they are whole, before ext_authz gets them. */
export interface UncheckedBodyEntry extends ForGateways {
  readonly type: 'unchecked-body'
  /** uncheckedBodyKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy whose tokens are required; absent: the route has none. */
  readonly policy?: PolicySource
  /** Whether no token is required, so that anybody may send a body. */
  readonly isAnonymous?: true
  readonly maxBodyBytes: number
}

/** Removes from the lists of an MCP server what the rules deny to the caller. */
export interface ListsEntry extends ForGateways {
  readonly type: 'lists'
  /** listsKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy with mcp.filterLists. */
  readonly policy?: PolicySource
  readonly authorization: Authorization
  /** As in AuthzEntry. */
  readonly session?: SessionBinding
}

/** Seals the sessions of an MCP server, on a route whose replies are otherwise not processed. */
export interface SessionsEntry extends ForGateways {
  readonly type: 'sessions'
  /** sessionsKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy with mcp.bindSession. */
  readonly policy?: PolicySource
  /** As in AuthzEntry. */
  readonly session: SessionBinding
}

/** Serves the metadata documents and client registration of one MCP route. */
export interface WellKnownEntry extends ForGateways {
  readonly type: 'well-known'
  /** routeKey() of names.ts: what Envoy sends as x-gatehouse-route. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy with mcp. */
  readonly policy?: PolicySource
  readonly paths: McpPaths
  /** RFC 9728 document without resource (unless configured) and authorization_servers, which are computed. */
  readonly resourceMetadata: JsonObject
  /** authorization_servers; absent: the gateway's own MCP URL. */
  readonly authorizationServer?: string
  readonly serverMetadata: ServerMetadata
  readonly registration: Registration
  /** If present, the gateway is the authorization server; serverMetadata and registration are then unused. */
  readonly relay?: Relay
}

/** Where the MCP endpoint and its documents are (decisions 9 and 12b). */
export interface McpPaths {
  /** Path of the MCP endpoint, e.g. "/mcp"; "" for the root. The suffix of the well-known paths. */
  readonly mcpPath: string
  /** Origin of resourceMetadata.resource, e.g. "https://gw.example"; absent: the request's scheme and authority. */
  readonly origin?: string
}

/** The inputs of the authorization server metadata (RFC 8414, section 2). */
export interface ServerMetadata {
  readonly metadataIssuer: 'Provider' | 'Gateway'
  /** Whether clientId is set; client_id_metadata_document_supported is then dropped (decision 10). */
  readonly clientIdConfigured: boolean
  /** The identity provider's discovery document as fetched; if absent (never fetched), the answer is 503. */
  readonly discovery?: JsonObject
}

/** How client registration (RFC 7591, section 3) is answered. */
export type Registration =
  | { readonly type: 'answer'; readonly clientId: string }
  | { readonly type: 'proxy'; readonly target: RemoteTarget }
  /** 501 with this error_description. */
  | { readonly type: 'refuse'; readonly description: string }

/** Guards the LLM traffic of one rule of a route. */
export interface GuardEntry extends ForGateways {
  readonly type: 'guard'
  /** routeKey() of names.ts: what Envoy sends as x-gatehouse-route. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that the promptGuard is from; webhooks keep the order of its lists. */
  readonly policy?: PolicySource
  /** Asked in this order before the LLM gets the prompt. */
  readonly request: readonly Webhook[]
  /** Asked in this order before the client gets the reply. */
  readonly response: readonly Webhook[]
  /** What becomes of a change of a text that its provider has signed; absent: Strip. */
  readonly signedTexts?: 'Refuse'
  /** On a sealed route of a mesh: the mark for requests that may continue. Never logged or dumped. */
  readonly seal?: string
}

/** Asks webhooks of mode Audit about copies of the LLM traffic of one rule of a route, which changes nothing. */
export interface GuardAuditEntry extends ForGateways {
  readonly type: 'guard-audit'
  /** guardAuditKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly request: readonly AuditedWebhook[]
  readonly response: readonly AuditedWebhook[]
}

/** A webhook whose verdict is logged and counted only. */
export interface AuditedWebhook extends Webhook {
  readonly policy: PolicySource
}

/** Guards the MCP traffic of one rule of a route. */
export interface McpGuardEntry extends ForGateways {
  readonly type: 'mcp-guard'
  /** mcpGuardKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that the guard is from; webhooks keep the order of its lists. */
  readonly policy?: PolicySource
  /** Asked in this order before the server gets a message of the client. */
  readonly request: readonly Webhook[]
  /** Asked in this order before the client gets a message of the server. */
  readonly response: readonly Webhook[]
  /** With mcp.filterLists: the rules that lists are filtered by, before webhooks see them. */
  readonly authorization?: Authorization
  /** As in AuthzEntry. */
  readonly session?: SessionBinding
}

/** Asks webhooks of mode Audit about copies of the MCP traffic of one rule of a route, which changes nothing. */
export interface McpGuardAuditEntry extends ForGateways {
  readonly type: 'mcp-guard-audit'
  /** guardAuditKey() of names.ts. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly request: readonly AuditedWebhook[]
  readonly response: readonly AuditedWebhook[]
  /** As in McpGuardEntry; absent if no reply is read. */
  readonly authorization?: Authorization
}

/** A guardrail webhook: an item of request[] or response[] in backend.ai.promptGuard or backend.mcp.guard. */
export interface Webhook {
  /** Its position in the policy's list; absent: as here. */
  readonly index?: number
  /** Its line, counted from the line of the policy's source; absent: unknown. */
  readonly line?: number
  /** Name of its Destination: the label in metrics and logs; webhooks of the same one share connections. */
  readonly backend: string
  /** The path is /request or /response unless a header :path says otherwise. */
  readonly target: RemoteTarget
  readonly failureMode: 'FailClosed' | 'FailOpen'
  /** Sorted by name. */
  readonly headers: readonly WebhookHeader[]
  readonly inspectToolCalls: boolean
  /** Whether definitions of tools are shown. */
  readonly inspectTools: boolean
  /** Whether text files in base64 are shown. */
  readonly inspectFiles: boolean
  /** Maximum length of a match in streamed replies, in characters (decision 20). */
  readonly holdBack: number
  /** Minimum interval between two windows of one text, in milliseconds. */
  readonly minIntervalMs: number
  /** Async: text is sent before the webhook sees it; a reject ends the stream. */
  readonly mode: 'Sync' | 'Async'
  /** Milliseconds; absent: none (decision 21). */
  readonly deadlineMs?: number
  /** Decision 22; 0: no limit. */
  readonly maxConnections: number
  /** Maximum idle time of a connection, unless the server closes it earlier; 0: no limit. */
  readonly keepAliveSeconds: number
}

/** A header sent to a webhook (ProxyPolicy webhook.headers). */
export interface WebhookHeader {
  /** Lower-case, or :path, :method, :authority. */
  readonly name: string
  /** CEL (decision 24). */
  readonly expression: string
}

/** Which half of an exchange webhooks are asked about. */
export type Phase = 'request' | 'response'
