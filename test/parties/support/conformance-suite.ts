// Runs the MCP conformance suite's scenarios for authorization servers.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { discoverOAuthServerInfo, registerClient } from '@modelcontextprotocol/client'
import { freePort } from '../../../testing/ports.js'
import { asUser, CLIENT_METADATA, type UserAgent } from '../../support/clients/client-run.js'
import { type ChildProgram, startProgram } from './child-program.js'
import { visitAnywhere } from './person.js'
import { program } from './tools.js'

const SUITE = program('@modelcontextprotocol/conformance', 'dist/index.js')

export const conformance = (...args: readonly string[]): ChildProgram => startSuite({}, args)

const startSuite = (env: Readonly<Record<string, string>>, args: readonly string[]): ChildProgram =>
  startProgram(process.execPath, [SUITE, ...args], { env: { NO_COLOR: '1', ...env } })

export interface AuthorizationRun {
  /** The authorization server. */
  readonly issuer: string
  readonly resource: string
  readonly client: string
  /** Port of the suite's own listener, whose /callback is the redirect URI. */
  readonly port: number
  readonly agent: UserAgent
}

/** Discovers the authorization server of an MCP URL and registers there, as clients do. */
export async function registered(url: string): Promise<AuthorizationRun> {
  const port = await freePort()
  const { authorizationServerUrl, authorizationServerMetadata } = await discoverOAuthServerInfo(url)
  const client = await registerClient(authorizationServerUrl, {
    ...(authorizationServerMetadata && { metadata: authorizationServerMetadata }),
    clientMetadata: {
      ...CLIENT_METADATA,
      redirect_uris: [`http://127.0.0.1:${String(port)}/callback`],
    },
  })
  const issuer = authorizationServerMetadata?.issuer ?? ''
  return { issuer, resource: url, client: client.client_id, port, agent: visitAnywhere }
}

/** Resolves to the exit code and the last line of the output. */
export async function authorizationScenarios(
  run: AuthorizationRun,
): Promise<readonly [number | null, string]> {
  const { code, total } = await runScenarios(run, {})
  return [code, total]
}

interface Outcome {
  readonly code: number | null
  /** The last line of the output. */
  readonly total: string
}

/** Resolves to the outcome, and to the access token that the suite received. */
export async function scenariosAndToken(
  run: AuthorizationRun,
): Promise<Outcome & { readonly token: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-conformance-'))
  const file = join(folder, 'token')
  try {
    const outcome = await runScenarios(run, {
      NODE_OPTIONS: `--import=${new URL('write-token.ts', import.meta.url).href}`,
      GATEHOUSE_TEST_TOKEN_FILE: file,
    })
    return { ...outcome, token: await readFile(file, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function runScenarios(
  run: AuthorizationRun,
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const suite = startSuite(env, [
    'authorization',
    '--url',
    run.issuer,
    '--resource',
    run.resource,
    '--client-id',
    run.client,
    '-p',
    String(run.port),
  ])
  try {
    const ended = suite.ended()
    await Promise.race([ended, logInAtPrintedUrl(suite, run.agent)])
    return { code: await ended, total: totalOf(suite) }
  } finally {
    await suite.stop()
  }
}

/** Logs in at the URL that the suite prints; the suite listens for the answer. */
async function logInAtPrintedUrl(suite: ChildProgram, agent: UserAgent): Promise<void> {
  await suite.seen(/Callback server started/)
  const [address] = await suite.seen(/http:\/\/\S+code_challenge=\S+/)
  await fetch(await agent(asUser(new URL(address), 'alice')))
}

export function totalOf(suite: ChildProgram): string {
  const lines = suite.output().match(/^Total: .*$/gm) ?? []
  return lines.at(-1) ?? suite.output()
}
