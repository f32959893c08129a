// Keeps the secret of probes in a Secret beside the Lease, so that each replica can answer what another has asked. The
// replica that holds the Lease creates it.

import { randomBytes } from 'node:crypto'
import { errorText } from '../../errors.js'
import { isJsonObject, type JsonObject } from '../../ir/json.js'
import { type KubernetesClient, KubernetesError } from '../../resources/kubernetes/client.js'

/** The secret as last read. */
export interface ProbeSecret {
  /** Returns undefined until it has been read once. */
  current(): Uint8Array | undefined
  /** Calls a function with the secret as soon as it is known, and when it has changed. */
  follow(onSecret: (secret: Uint8Array) => void): void
  close(): void
}

/** What the secret is read with. */
export interface ProbeSecretOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  readonly mayWrite: () => boolean
  readonly onWarning: (message: string) => void
}

/** Member of the Secret's data. */
const MEMBER = 'key'
const BYTES = 32
/** Pauses in milliseconds: until it is known, and before it is read again. */
const SOON = 1_000
const AGAIN = 30_000

/** Reads the secret, again and again, and creates it if it is missing. */
export function startProbeSecret(options: ProbeSecretOptions): ProbeSecret {
  const { client, namespace, name, mayWrite, onWarning } = options
  const list = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`
  let secret: Uint8Array | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let tell = (_secret: Uint8Array): void => undefined
  const look = async (): Promise<void> => {
    try {
      const found = await read(client, `${list}/${encodeURIComponent(name)}`)
      if (found === undefined && mayWrite())
        await client.call('POST', list, newSecret(options, secret ?? randomBytes(BYTES)))
      if (found !== undefined && (secret === undefined || !secretsEqual(found, secret))) {
        secret = found
        tell(found)
      }
    } catch (error) {
      const isRace = error instanceof KubernetesError && error.status === 409
      if (!isRace) onWarning(`the Secret for probes cannot be read or created: ${errorText(error)}`)
    }
    if (!isClosed) timer = setTimeout(() => void look(), secret === undefined ? SOON : AGAIN)
  }
  void look()
  return {
    current: () => secret,
    follow: (onSecret) => {
      tell = onSecret
      if (secret !== undefined) onSecret(secret)
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

const secretsEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  Buffer.compare(one, other) === 0

async function read(client: KubernetesClient, path: string): Promise<Uint8Array | undefined> {
  try {
    const { data } = await client.call('GET', path)
    const text = isJsonObject(data) ? data[MEMBER] : undefined
    const bytes = Buffer.from(typeof text === 'string' ? text : '', 'base64')
    if (bytes.length < BYTES) throw new Error(`it has no ${MEMBER} of ${BYTES} bytes`)
    return bytes
  } catch (error) {
    if (error instanceof KubernetesError && error.status === 404) return undefined
    throw error
  }
}

const newSecret = ({ namespace, name }: ProbeSecretOptions, bytes: Uint8Array): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace, name },
  data: { [MEMBER]: Buffer.from(bytes).toString('base64') },
})
