// Translates a promptGuard or an MCP guard into the webhooks that ext_proc calls, with deadlines and limits (decisions 21 and 22).

import { compareText } from '../../../kit/incremental/sorted-list.js'
import type {
  AuditedWebhook,
  GuardAuditEntry,
  GuardEntry,
  Webhook,
  WebhookHeader,
} from '../../../model/proc-entry.js'
import type { GatewayName } from '../../../model/status.js'
import { connectionToBackend, targetAt } from '../backends/remote-targets.js'
import { translateGateway } from '../listeners/gateways.js'
import { type WebhookLimits, webhookLimits } from '../listeners/parameters.js'
import type { Context } from '../world/context.js'
import { gatewayKey } from '../world/world.js'
import { type Attachment, attachPolicies, guardsMcp } from './attachments.js'
import type { PromptGuard, TranslatedWebhook, WebhookSpec } from './prompt-guard.js'

/** Returns the webhooks for routes on these Gateways; undefined: the guard names none. */
export function guardWebhooks(
  context: Context,
  guard: PromptGuard,
  gateways: readonly GatewayName[],
): Pick<GuardEntry, 'request' | 'response'> | undefined {
  const limits = limitsOf(context, gateways)
  const webhooks = (phase: 'request' | 'response') =>
    guard[phase]
      .filter(({ isAudited }) => !isAudited)
      .map((webhook, index) => ({
        ...webhookOf(context, webhook, `/${phase}`, limits),
        ...(webhook.index === index ? {} : { index: webhook.index }),
      }))
  const [request, response] = [webhooks('request'), webhooks('response')]
  return request.length + response.length === 0 ? undefined : { request, response }
}

/** Returns the audited webhooks of both modes of policy; undefined: there are none. */
export function auditedWebhooks(
  context: Context,
  attachment: Attachment,
  gateways: readonly GatewayName[],
): Pick<GuardAuditEntry, 'request' | 'response'> | undefined {
  const limits = limitsOf(context, gateways)
  const kind = guardsMcp(attachment) ? 'mcpGuard' : 'guard'
  const enforced = attachment[kind]
  const webhooks = (phase: 'request' | 'response'): readonly AuditedWebhook[] =>
    [enforced, attachment.audit?.[kind]].flatMap((policy) =>
      (policy?.[kind]?.[phase] ?? [])
        .filter(({ isAudited }) => isAudited || policy !== enforced)
        .map((webhook) => ({
          ...webhookOf(context, webhook, `/${phase}`, limits),
          index: webhook.index,
          policy: { policy: policy?.key ?? '', source: policy?.policy.source ?? '' },
        })),
    )
  const [request, response] = [webhooks('request'), webhooks('response')]
  return request.length + response.length === 0 ? undefined : { request, response }
}

/** Returns the webhook limits; for a route of several Gateways, those of the first by name. */
function limitsOf(context: Context, [first]: readonly GatewayName[]): WebhookLimits | undefined {
  const gateway = first && translateGateway(context, gatewayKey(first))
  return gateway === undefined || gateway === 'foreign'
    ? undefined
    : webhookLimits(context, gateway.gateway)
}

const UNATTACHED: WebhookLimits = { maxConnections: 0, keepAliveSeconds: 0 }

function webhookOf(
  context: Context,
  { spec, backend, line }: TranslatedWebhook,
  path: string,
  limits: WebhookLimits = UNATTACHED,
): Webhook {
  const { requestTimeoutMs } = attachPolicies(context, backend.target)
  return {
    ...(line !== undefined && { line }),
    backend: backend.destination.name,
    target: targetAt(connectionToBackend(backend), backend.authority, path),
    failureMode: spec.failureMode,
    headers: headersOf(spec),
    inspectToolCalls: spec.inspectToolCalls ?? false,
    inspectTools: spec.inspectTools,
    inspectFiles: spec.inspectFiles,
    holdBack: spec.holdBack ?? 1,
    minIntervalMs: spec.minInterval ?? 0,
    mode: spec.mode ?? 'Sync',
    ...(requestTimeoutMs === undefined ? {} : { deadlineMs: requestTimeoutMs }),
    ...limits,
  }
}

const headersOf = ({ headers }: WebhookSpec): readonly WebhookHeader[] =>
  Object.entries(headers)
    .map(([name, expression]) => ({ name: name.toLowerCase(), expression }))
    .map((header) => (header.name === 'host' ? { ...header, name: ':authority' } : header))
    .sort((a, b) => compareText(a.name, b.name))
