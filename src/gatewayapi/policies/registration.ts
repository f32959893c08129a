// Decides who answers client registration on an MCP route: Gatehouse, the provider, or nobody (decisions 12 and 12a).

import type { JsonObject } from '../../ir/json.js'
import type { Registration } from '../../ir/proc-entry.js'
import { type Reach, targetOfIssuer } from '../backends/remote-targets.js'
import { type McpSpec, projectOf } from './key-sets.js'

/** Who answers client registration. */
export interface TranslatedRegistration {
  readonly registration: Registration
  /** Behaviour that users may not expect. */
  readonly notes: readonly string[]
  /** What does not work. */
  readonly warnings: readonly string[]
}

/** discovery: the provider's document, if it was fetched. */
export function translateRegistration(
  { clientId, provider }: McpSpec,
  issuer: string,
  reach: Reach,
  discovery: JsonObject | undefined,
): TranslatedRegistration {
  if (clientId !== undefined)
    return { registration: { type: 'answer', clientId }, notes: [], warnings: [] }
  if (provider === 'IdpOne')
    return refused('mcp.clientId is not set, and IdpOne does not register clients')
  return provider === 'IdpTwo'
    ? proxiedToIdpTwo(issuer, reach)
    : proxiedAsDiscovered(reach, discovery)
}

const refused = (description: string): TranslatedRegistration => ({
  registration: { type: 'refuse', description },
  notes: [],
  warnings: [`Client registration is refused: ${description}`],
})

function proxiedToIdpTwo(
  issuer: string,
  { issuer: url, connection }: Reach,
): TranslatedRegistration {
  const project = projectOf(issuer)
  if (project === undefined)
    return refused(`mcp.clientId is not set, and the issuer is not one of IdpTwo's`)
  const path = `/v1/mgmt/mcp/client/${project.projectId}/${project.serverId}/register`
  const target = targetOfIssuer(connection, url, path)
  const note =
    'mcp.clientId is not set: registration is passed on to IdpTwo, which refuses it without a management key'
  return { registration: { type: 'proxy', target }, notes: [note], warnings: [] }
}

/** Uses the document's endpoint only if it has the issuer's origin: a document cannot redirect Gatehouse elsewhere. */
function proxiedAsDiscovered(
  { issuer, connection }: Reach,
  discovery: JsonObject | undefined,
): TranslatedRegistration {
  if (discovery === undefined)
    return {
      registration: { type: 'refuse', description: "the provider's metadata is not available yet" },
      notes: [],
      warnings: [],
    }
  const endpoint = discovery['registration_endpoint']
  const origin = `${issuer.scheme}://${issuer.authority}`
  if (typeof endpoint !== 'string' || !endpoint.startsWith(`${origin}/`) || /[\s#]/.test(endpoint))
    return refused(
      'mcp.clientId is not set, and the provider names no registration endpoint of its own origin',
    )
  const target = targetOfIssuer(connection, issuer, endpoint.slice(origin.length))
  return { registration: { type: 'proxy', target }, notes: [], warnings: [] }
}
