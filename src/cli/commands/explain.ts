// gatehouse explain: prints how one request is answered, from files of resources or by asking a running Gatehouse.

import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { request as sendRequest, type RequestOptions } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { errorText } from '../../kit/errors.js'
import { err, ok, type Result } from '../../kit/result.js'
import { readExplainRequest, type RequestDescription } from '../../ops/explain/explain-request.js'
import type { Explanation } from '../../ops/explain/explanation.js'
import { explanationText } from '../../ops/explain/explanation-text.js'
import { descriptionText } from '../../ops/explain/read-description.js'
import type { Settings } from '../../ops/settings/settings.js'
import { formatAddress, type ServerAddress } from '../../ops/settings/values.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { explainOffline } from './explain-offline.js'

/** Exit code 0 whenever the request is explained, whatever its answer is. */
export async function explainRequest(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const described = await describeRequest(settings)
  if (!described.ok) return fail(io, described.error, 1)
  const request = readExplainRequest(described.value)
  if (!request.ok) return fail(io, request.error, 2)
  const explained =
    settings.resources.length > 0
      ? await explainOffline(settings, request.value, io)
      : await askExplanation(settings, described.value, io.stop)
  if (!explained.ok) return fail(io, explained.error, 1)
  io.out(printed(explained.value, settings.format))
  return 0
}

function fail(io: CommandIo, sentence: string, code: ExitCode): ExitCode {
  io.err(`gatehouse: ${sentence}\n`)
  return code
}

const printed = (explanation: Explanation, format: Settings['format']): string =>
  format === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : explanationText(explanation)

/** Reads the files of the request. */
async function describeRequest(settings: Settings): Promise<Result<RequestDescription, string>> {
  const { request = '', header, listenerPort, gateway, source } = settings
  const token = await readGiven('--token', settings.token)
  if (!token.ok) return token
  const body = await readGiven('--body', settings.body)
  if (!body.ok) return body
  return ok({
    request,
    headers: header,
    token: token.value?.toString('utf8'),
    body: body.value,
    listenerPort,
    gateway: gateway && `${gateway.namespace}/${gateway.name}`,
    sourceAddress: source,
  })
}

const STANDARD_INPUT = 0

async function readGiven(
  flag: string,
  file: string | undefined,
): Promise<Result<Buffer | undefined, string>> {
  if (file === undefined) return ok(undefined)
  try {
    return ok(
      file === '-'
        ? await buffer(createReadStream('', { fd: STANDARD_INPUT, autoClose: false }))
        : await readFile(file),
    )
  } catch (error) {
    return err(`${flag} ${file} cannot be read: ${errorText(error)}`)
  }
}

// Asks a running Gatehouse, at its admin address, to explain a request.

/** Timeout of the request; longer than a check may wait for keys. */
const TIMEOUT_MS = 10_000

/** error: why there is no explanation. */
async function askExplanation(
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
