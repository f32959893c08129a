// Names what `check` cannot know without --fetch. These lines are no remarks: they describe the command, not the resources.

import type { WantedDocument } from '../ir/remote-target.js'
import type { Resources } from '../resources/kinds/resources.js'

/** Returns the URL and the kind of a document, for messages. */
export const documentName = ({ kind, targets }: WantedDocument): string =>
  `${targets[0]?.url ?? ''} (${kind === 'KeySet' ? 'key set' : 'discovery document'})`

/** Returns a line for each thing that was not checked. */
export const uncheckedLines = (
  { proxyPolicies }: Resources,
  wanted: readonly WantedDocument[],
): readonly string[] => [
  ...wanted.map((each) => `not checked offline: ${documentName(each)}`),
  ...proxyPolicies.flatMap(issLines),
]

/** Says what `check --fetch` and the policy's condition report if the provider sends iss. */
function issLines({
  metadata: { namespace, name },
  source,
  spec,
}: Resources['proxyPolicies'][number]): readonly string[] {
  const { mcp, providers = [] } = spec.traffic?.jwtAuthentication ?? {}
  if (spec.mode === 'Audit' || mcp?.authorizationServer !== 'Gateway') return []
  const issuer = providers[0]?.issuer ?? ''
  return [
    `${source}: not checked offline: ProxyPolicy ${namespace}/${name}: if ${issuer} sends iss in its authorization response (RFC 9207), MCP clients that check it cannot log in with authorizationServer Gateway: set mcp.authorizationServer to Provider or Relay (check --fetch asks the provider)`,
  ]
}
