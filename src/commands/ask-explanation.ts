// Asks a running Gatehouse, at its admin address, to explain a request.

import { readFile } from 'node:fs/promises'
import { request as sendRequest, type RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import { errorText } from '../errors.js'
import type { RequestDescription } from '../explain/explain-request.js'
import type { Explanation } from '../explain/explanation.js'
import { descriptionText } from '../explain/read-description.js'
import { err, ok, type Result } from '../result.js'
import type { Settings } from '../settings.js'
import { formatAddress, type ServerAddress } from '../settings/values.js'

/** Timeout of the request; longer than a check may wait for keys. */
const TIMEOUT_MS = 10_000

/** error: why there is no explanation. */
export async function askExplanation(
  settings: Settings,
  described: RequestDescription,
  stop: AbortSignal,
): Promise<Result<Explanation, string>> {
  const place = formatAddress(settings.admin)
  try {
    const { adminTokenFile } = settings
    const token = adminTokenFile === undefined ? undefined : await readFile(adminTokenFile, 'utf8')
    const body = descriptionText(described)
    const answer = await post(settings.admin, { body, token: token?.trim(), stop })
    return answer.status === 200
      ? ok(JSON.parse(answer.body) as Explanation)
      : err(`${place} answers ${String(answer.status)}: ${answer.body.trim()}`)
  } catch (error) {
    return err(`${place} cannot be asked: ${errorText(error)}`)
  }
}

interface Post {
  readonly body: string
  /** The token in --admin-token-file. */
  readonly token: string | undefined
  readonly stop: AbortSignal
}

const post = (
  address: ServerAddress,
  { body, token, stop }: Post,
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)])
    const options = { ...socketOf(address), method: 'POST', path: '/explain', headers, signal }
    const asked = sendRequest(options, (response) => {
      text(response).then(
        (received) => resolve({ status: response.statusCode ?? 0, body: received }),
        reject,
      )
    })
    asked.on('error', reject)
    asked.end(body)
  })

const socketOf = (address: ServerAddress): RequestOptions =>
  address.type === 'unix'
    ? { socketPath: address.path }
    : { host: address.host, port: address.port }
