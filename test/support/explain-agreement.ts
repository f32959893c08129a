// Sends requests to Envoy and to `gatehouse explain`, from files and from the running Gatehouse, and compares the answers.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Explanation } from '../../src/ops/explain/explanation.js'
import { eventually } from '../../testing/eventually.js'
import { explain } from './explain-command.js'
import { rawBytes } from './raw-request.js'
import type { Stack } from './stack.js'

/** The Gatehouse that is asked. */
export interface Running {
  /** With --access-log. */
  readonly stack: Stack
  /** For the files of tokens and bodies. */
  readonly folder: string
  /** Its --max-body-bytes. */
  readonly maxBodyBytes: number
}

/** A request that is sent and explained. */
export interface Asked {
  /** Distinguishes requests that differ in their tokens. */
  readonly name?: string
  readonly method?: string
  readonly host: string
  readonly path: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
  readonly token?: string
}

interface Seen {
  readonly status: number
  /** null: none. */
  readonly route: string | null
  readonly location?: string | undefined
  readonly challenge?: string | undefined
  /** Reason of a denial; null: the request is not denied. */
  readonly reason: string | null
  /** Why policies of mode Audit would deny it; null: they would not. */
  readonly auditReason: string | null
}

const headerIn = (head: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*?)\\r?$`, 'im').exec(head)?.[1]

interface Sent extends Omit<Seen, keyof Logged> {
  /** Envoy's id of the request, which the access log repeats; absent: no answer came. */
  readonly id: string | undefined
}

async function sent(
  { stack }: Running,
  { method = 'GET', host, path, headers, body, token }: Asked,
): Promise<Sent> {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...(headers ?? []),
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Length: ${String(Buffer.byteLength(body))}`]),
  ]
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  const start = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const request = Buffer.concat([start, bytes ?? Buffer.of()])
  const { status, head } = await rawBytes(stack.origin, request)
  return {
    id: headerIn(head, 'x-request-id'),
    status,
    location: headerIn(head, 'location'),
    challenge: headerIn(head, 'www-authenticate'),
  }
}

type Logged = Pick<Seen, 'route' | 'reason' | 'auditReason'>

/** What Envoy's access log says, by request id. It is written every ten seconds: the tests run concurrently. */
function loggedRequests({ stack }: Running): ReadonlyMap<string, Logged> {
  const lines = stack
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, string | null>>)
  return new Map(
    lines.map(({ request_id: id, route = null, reason = null, audit_reason: audit = null }) => [
      id ?? '',
      { route, reason, auditReason: audit },
    ]),
  )
}

const NOT_LOGGED: Logged = { route: null, reason: null, auditReason: null }

let files = 0

async function explained(
  { stack, folder, maxBodyBytes }: Running,
  asked: Asked,
): Promise<Explanation> {
  const { method = 'GET', host, path, headers = [], body, token } = asked
  const file = async (text: string | Buffer): Promise<string> => {
    const path = join(folder, String((files += 1)))
    await writeFile(path, text)
    return path
  }
  const port = stack.port
  const request = [
    '--listener-port',
    String(port),
    '--request',
    `${method} http://${host}${path}`,
    ...headers.flatMap((header) => ['--header', header]),
    ...(token === undefined ? [] : ['--token', await file(token)]),
    ...(body === undefined ? [] : ['--body', await file(body)]),
  ]
  const limits = ['--max-body-bytes', String(maxBodyBytes)]
  const offline = await explain(['--resources', stack.folder, ...limits, ...request])
  if (body !== undefined && body.length > 500_000) return offline
  const { answer, place, result } = await explain([
    '--admin',
    new URL(stack.admin).host,
    ...request,
  ])
  expect({ answer: withoutTime(answer), place, result }).toEqual({
    answer: withoutTime(offline.answer),
    result: offline.result,
    place: { ...offline.place, ...(place.route && { route: place.route }) },
  })
  return offline
}

/** The second at which each was asked may be another. */
const withoutTime = ({ text, ...answer }: Explanation['answer']): object => ({
  ...answer,
  text: text.replace(/the time is \S+Z/, 'the time is now'),
})

const OK = 200

function asSeen({ answer, audit, place }: Explanation): Seen {
  const header = (name: string): string | undefined =>
    answer.headers?.find(([own]) => own === name)?.[1]
  return {
    status: answer.status ?? OK,
    route: place.route?.name ?? null,
    reason: (answer.status ?? OK) < 400 ? null : (answer.reason ?? null),
    auditReason: audit?.decision === 'deny' ? audit.reason : null,
    location: header('location'),
    challenge: header('www-authenticate'),
  }
}

/** Routes that the translator adds by itself have names that explain does not show. */
const plain = (seen: Seen): Seen =>
  /(path-parameters|too-many-hops)$/.test(seen.route ?? '') ? { ...seen, route: null } : seen

/** Sends every request to Envoy and to explain, and fails with the requests whose answers differ. */
export async function agreement(
  running: Running,
  all: readonly Asked[],
): Promise<readonly Explanation[]> {
  const answers: { readonly asked: Asked; readonly own: Explanation; readonly envoy: Sent }[] = []
  for (const asked of all)
    answers.push({ asked, own: await explained(running, asked), envoy: await sent(running, asked) })
  const requests = await eventually(() => {
    const logged = loggedRequests(running)
    for (const { envoy } of answers)
      if (envoy.id !== undefined && !logged.has(envoy.id)) throw new Error('a line is missing')
    return logged
  }, 60_000)
  for (const { asked, own: explanation } of answers)
    if (asked.token !== undefined) expect(JSON.stringify(explanation)).not.toContain(asked.token)
  const about = ({ token: _, ...asked }: Asked): string => JSON.stringify(asked)
  const envoys = answers.map(({ asked, envoy: { id, ...rest } }) => {
    return [about(asked), plain({ ...rest, ...(requests.get(id ?? '') ?? NOT_LOGGED) })]
  })
  const own = answers.map(({ asked, own: explanation }) => [about(asked), asSeen(explanation)])
  expect(Object.fromEntries(own)).toEqual(Object.fromEntries(envoys))
  return answers.map(({ own: explanation }) => explanation)
}
