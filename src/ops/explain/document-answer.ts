// Explains the answers of Gatehouse on the well-known paths of an MCP route, with the code of the ext_proc server. No
// other server is asked: where the answer is another server's, the explanation says so.

import { createRelayDeps } from '../../addons/relay/extproc/relay-deps.js'
import {
  oauthDocumentAt,
  relayEndpointAt,
  resourceMetadataPath,
  serverMetadataPath,
} from '../../extauthz/oauth/paths.js'
import { type Reply, sentHeaders } from '../../extproc/session/immediate-response.js'
import { reasonIn } from '../../extproc/session/refusal-metadata.js'
import { createSlots } from '../../extproc/session/slots.js'
import { wellKnownReply } from '../../extproc/well-known/well-known-processor.js'
import { OwnEnding } from '../../kit/ending.js'
import { err } from '../../kit/result.js'
import type { WellKnownEntry } from '../../model/proc-entry.js'
import { headersFromEnvoy } from './check-message.js'
import type { ExplainedAnswer, Explanation } from './explanation.js'
import type { Field } from './routing/client-request.js'
import { pathOf, type RoutedRequest } from './routing/match-route.js'

/** A request on a well-known path, and the state that its answer depends on. */
export interface DocumentRequest {
  readonly request: RoutedRequest
  readonly scheme: 'http' | 'https'
  readonly sourceAddress: string
  readonly body: Uint8Array | undefined
  /** --trusted-hops. */
  readonly trustedHops: number
  /** Whether this is no running Gatehouse, which would have fetched the provider's documents. */
  readonly isOffline: boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type Outcome = Pick<Explanation, 'result' | 'answer' | 'changes'>

/** Returns the answer to a request that ext_proc answers itself. */
export async function documentAnswer(
  entry: WellKnownEntry,
  given: DocumentRequest,
): Promise<Outcome> {
  const path = pathOf(given.request.target)
  const asked: string[] = []
  const reply = await wellKnownReply(entry, messageOf(given), given.body ?? new Uint8Array(), {
    clientAddress: given.sourceAddress,
    signal: new OwnEnding(),
    deps: depsFor(asked, given.now),
  })
  const name = documentNamed(entry, path)
  const [url] = asked
  if (url !== undefined) return askedElsewhere(name, url)
  if (given.isOffline && lacksDiscovery(entry, reply)) return unfetched(name)
  return {
    result: 'answered',
    answer: answerOf(reply, given.request.method, name),
    changes: reply.status < 400 ? [] : [changeFor(entry, reply)],
  }
}

function messageOf(given: DocumentRequest) {
  const { request, scheme, body } = given
  const hasLength = request.headers.some(([name]) => name === 'content-length')
  const length: readonly Field[] =
    body === undefined || hasLength ? [] : [['content-length', String(body.length)]]
  const headers = new Map<string, readonly string[]>()
  for (const [name, value] of [...headersFromEnvoy({ ...given, scheme }), ...length])
    headers.set(name, [...(headers.get(name) ?? []), value])
  return { headers, endOfStream: body === undefined }
}

/** asked: gets the URLs of other servers that the answer needs. The limits are those of a server without requests. */
function depsFor(asked: string[], now: () => number) {
  const callRemote = ({ url }: { readonly url: string }) => {
    asked.push(url)
    return Promise.resolve(err({ type: 'aborted' as const }))
  }
  const slots = createSlots(1)
  const relay = createRelayDeps({ callRemote, callPublic: callRemote, slots, now })
  return { callRemote, slots, relay, now }
}

const DOCUMENTS = {
  'resource-metadata': 'the protected resource metadata (RFC 9728)',
  'server-metadata': 'the authorization server metadata (RFC 8414)',
  registration: 'client registration (RFC 7591)',
}

/** undefined: no document or endpoint has the path. */
function documentNamed({ paths, relay }: WellKnownEntry, path: string): string | undefined {
  const document = oauthDocumentAt(paths.mcpPath, path)
  if (document !== undefined) return DOCUMENTS[document]
  const endpoint = relay && relayEndpointAt(paths.mcpPath, path)
  return endpoint && `the endpoint "${endpoint}" of the relayed login`
}

const askedElsewhere = (name: string | undefined, url: string): Outcome => ({
  result: 'answered',
  answer: {
    from: 'Gatehouse',
    text: `${name ?? 'the answer'}: Gatehouse asks ${new URL(url).origin} first, which this explanation does not`,
  },
  changes: [],
})

/** Whether the answer would be another one if the provider's discovery document had been fetched. */
function lacksDiscovery({ relay, serverMetadata }: WellKnownEntry, { status }: Reply): boolean {
  const discovered = relay === undefined ? serverMetadata.discovery : relay.provider
  return discovered === undefined && status >= 400 && !INDEPENDENT.includes(status)
}

const INDEPENDENT: readonly number[] = [404, 405, 413]

const unfetched = (name: string | undefined): Outcome => ({
  result: 'answered',
  answer: {
    from: 'Gatehouse',
    text: `${name ?? 'no OAuth document has this path'}: it depends on the discovery document of the provider, which was not fetched`,
  },
  changes: ['Fetch the discovery document of the provider: --fetch'],
})

function answerOf(reply: Reply, method: string, name: string | undefined): ExplainedAnswer {
  const { status, headers } = reply
  const reason = reasonIn(reply)
  const isPage = !(headers['content-type'] ?? '').startsWith('application/json')
  const isSecret = reply.details.startsWith('gatehouse_relay') && status < 400
  const isBodyShown = method !== 'HEAD' && !isPage && !(isSecret && name !== METADATA)
  return {
    from: 'Gatehouse',
    status,
    ...(reason !== undefined && { reason }),
    headers: Object.entries(sentHeaders(reply)).map(([header, value]) =>
      header === 'location' ? [header, withoutQuery(value)] : [header, value],
    ),
    ...(isBodyShown && { body: Buffer.from(reply.body).toString() }),
    text: textFor(name, status),
  }
}

function textFor(name: string | undefined, status: number): string {
  if (name === undefined) return 'no OAuth document has this path'
  return status < 400 ? `${name}, which needs no token` : `the request for ${name} is refused`
}

const METADATA = DOCUMENTS['server-metadata']

/** The query of a redirect may hold codes. */
const withoutQuery = (url: string): string => url.split('?', 1)[0] ?? ''

function changeFor({ paths }: WellKnownEntry, { status, headers }: Reply): string {
  switch (status) {
    case 404:
      return `Ask for a document of the MCP endpoint: ${resourceMetadataPath(paths.mcpPath)} or ${serverMetadataPath(paths.mcpPath)}`
    case 405:
      return `Use the method ${headers['allow']?.replace(', ', ' or ') ?? ''}`
    case 413:
      return 'Send a smaller body: 64 KiB at most'
    case 501:
      return 'Set mcp.clientId in the policy, or use a provider that registers clients'
    case 503:
      return 'The condition of the policy says why the discovery document of the provider is not available'
    default:
      return 'Correct the request: the answer says what is wrong'
  }
}
