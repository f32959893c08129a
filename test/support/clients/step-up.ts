// The official clients, step by step through a step-up: they log in for what every request needs, call a tool that needs
// more, log in for that, and call it again.

import {
  Client as Client2,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { expect } from 'vitest'
import { asUser, type UserAgent } from './client-run.js'
import { MemoryProvider } from './memory-provider.js'
import { python as pythonClient } from './python.js'

/** The tool that needs more scopes. */
export const SUM = { name: 'get-sum', arguments: { a: 1, b: 2 } }
const ECHO = { name: 'echo', arguments: { message: 'hi' } }

/** Client information that a client has already. */
export interface KnownClient {
  readonly client_id: string
  readonly redirect_uris: string[]
}

export interface StepUp {
  readonly url: string
  readonly agent: UserAgent
  /** Absent: the client registers. */
  readonly known?: KnownClient | undefined
}

/** Runs a client: the results of echo and of the sum, as JSON. Rejects if it does not get through. */
type Run = (stepUp: StepUp) => Promise<readonly [echo: string, sum: string]>

function memoryProvider<Client, Tokens>({ known }: StepUp): MemoryProvider<Client, Tokens> {
  const provider = new MemoryProvider<Client, Tokens>()
  if (known !== undefined) provider.saveClientInformation(known as Client)
  return provider
}

/** Version 1 asks for no login where it has a refresh token: it refreshes, and is refused again. */
function withoutRefreshToken(
  stepUp: StepUp,
): MemoryProvider<OAuthClientInformationMixed, OAuthTokens> {
  const provider = memoryProvider<OAuthClientInformationMixed, OAuthTokens>(stepUp)
  const { saveTokens } = provider
  provider.saveTokens = ({ refresh_token: _, ...tokens }) => saveTokens(tokens)
  return provider
}

interface Connection {
  readonly client: {
    callTool(tool: typeof ECHO | typeof SUM): Promise<unknown>
    close(): Promise<void>
  }
  readonly begin: () => Promise<void>
  readonly logIn: () => Promise<void>
}

async function logInAndStepUp(connect: () => Connection): ReturnType<Run> {
  const first = connect()
  await expect(first.begin()).rejects.toThrow('Unauthorized')
  await first.logIn()
  const { client, logIn, begin } = connect()
  await begin()
  try {
    const echo = await client.callTool(ECHO)
    await expect(client.callTool(SUM)).rejects.toThrow()
    await logIn()
    return [JSON.stringify(echo), JSON.stringify(await client.callTool(SUM))]
  } finally {
    await client.close()
  }
}

const ts1: Run = (stepUp) => {
  const url = new URL(stepUp.url)
  const authProvider = withoutRefreshToken(stepUp)
  return logInAndStepUp(() => {
    const client = new Client({ name: 'gatehouse-tests', version: '1' })
    const transport = new StreamableHTTPClientTransport(url, { authProvider })
    const logIn = async () => {
      const back = await stepUp.agent(asUser(authProvider.authorization ?? url, 'alice'))
      await transport.finishAuth(back.searchParams.get('code') ?? '')
    }
    return { client, logIn, begin: () => client.connect(transport) }
  })
}

const ts2: Run = (stepUp) => {
  const url = new URL(stepUp.url)
  const authProvider = memoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>(stepUp)
  return logInAndStepUp(() => {
    const client = new Client2({ name: 'gatehouse-tests', version: '1' })
    const transport = new Transport2(url, { authProvider })
    const logIn = async () => {
      const back = await stepUp.agent(asUser(authProvider.authorization ?? url, 'alice'))
      await transport.finishAuth(back.searchParams)
    }
    return { client, logIn, begin: () => client.connect(transport) }
  })
}

/** The Python client logs in again by itself. */
const python: Run = async ({ url, agent, known }) => {
  const more = [[SUM.name, SUM.arguments]] as const
  const run = await pythonClient(url, 'alice', agent, '', more, known)
  return [run.echo, run.more?.[0] ?? '']
}

export const STEP_UP_CLIENTS = { ts1, ts2, python }
export const STEP_UP_NAMES = ['ts1', 'ts2', 'python'] as const

/** Expects two logins, for the first scopes and then for all, and the results of both tools. */
export async function expectStepUp(
  run: Run,
  stepUp: StepUp,
  [first, all]: readonly [readonly string[], readonly string[]],
): Promise<void> {
  const logins: string[][] = []
  const agent: UserAgent = (authorization) => {
    logins.push((authorization.searchParams.get('scope') ?? '').split(' '))
    return stepUp.agent(authorization)
  }
  const [echo, sum] = await run({ ...stepUp, agent })
  expect(echo).toContain('Echo: hi')
  expect(sum).toContain('The sum of 1 and 2 is 3')
  // Clients also ask for offline_access, and for what they were granted before.
  expect(logins).toEqual(
    [first, all].map((scopes) => expect.arrayContaining([...scopes]) as string[]),
  )
  const later = all.filter((scope) => !first.includes(scope))
  expect(logins[0]).not.toEqual(expect.arrayContaining(later.slice(0, 1)))
}
