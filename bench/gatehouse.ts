// Starts a Gatehouse that serves given resources on a socket, and an Envoy with a given static configuration.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { findEnvoy } from '../src/cli/run-envoy/find-envoy.js'
import type { JsonObject } from '../src/model/json.js'
import { PROGRAM } from '../testing/program.js'
import { freePort, type Party, run, until } from './processes.js'

export interface Gatehouse extends Party {
  /** Milliseconds from the start of the process until /readyz answers 200. */
  readonly startupMs: number
}

/** Returns the arguments of `gatehouse run` for these resources, with the Envoy that is installed. admin: an address. */
export async function runArguments(resources: string, admin: string): Promise<readonly string[]> {
  return [
    ...PROGRAM,
    'run',
    '--resources',
    resources,
    '--admin',
    admin,
    '--listen-address',
    '127.0.0.1',
    '--envoy',
    await findEnvoy({ environment: process.env }),
  ]
}

/** Starts `gatehouse serve` with these objects on a Unix socket, beside which their file is written. */
export async function startGatehouse(
  socket: string,
  items: readonly object[],
  flags: readonly string[] = [],
): Promise<Gatehouse> {
  const resources = `${socket}.json`
  await writeFile(resources, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }))
  const { log, ...gatehouse } = await serveFiles(resources, `unix:${socket}`, [], flags)
  log.resume()
  return gatehouse
}

/**
 * Starts `gatehouse serve`. The caller must read its log.
 * @param resources a file or a folder.
 * @param grpc as in --grpc.
 * @param nodeFlags flags for Node.
 * @param flags more flags of Gatehouse.
 */
export async function serveFiles(
  resources: string,
  grpc: string,
  nodeFlags: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<Gatehouse & { readonly log: Readable }> {
  const admin = `127.0.0.1:${String(await freePort())}`
  const start = performance.now()
  const party = run(
    process.execPath,
    [
      ...nodeFlags,
      ...PROGRAM,
      'serve',
      '--resources',
      resources,
      '--grpc',
      grpc,
      '--admin',
      admin,
      '--listen-address',
      '127.0.0.1',
      ...flags,
    ],
    'pipe',
  )
  await until(`http://${admin}/readyz`, 60_000)
  if (party.child.stderr === null) throw new Error('its log cannot be read')
  return { ...party, startupMs: performance.now() - start, log: party.child.stderr }
}

/** @param config its admin address must be at the port `admin`. */
export async function startEnvoy(
  folder: string,
  admin: number,
  config: JsonObject,
): Promise<Party> {
  const file = join(folder, 'envoy.json')
  await writeFile(file, JSON.stringify(config))
  const path = await findEnvoy({ environment: process.env })
  const party = run(path, [
    '-c',
    file,
    '--concurrency',
    '1',
    '--disable-hot-restart',
    '-l',
    'error',
  ])
  await until(`http://127.0.0.1:${String(admin)}/ready`)
  return party
}
