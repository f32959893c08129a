// Runs the whole product as users do: `gatehouse run` with a folder of resources and an Envoy, on free ports.

import { inject } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { envoyPath } from './envoy.js'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from './gatehouse.js'
import { untilListening } from './listening.js'
import { ofThisWorker } from './shared-stack.js'

export interface Stack extends Gatehouse {
  /** Origin of the first listener. */
  readonly origin: string
  readonly port: number
  /** Origin of Envoy's admin address. */
  readonly envoyAdmin: string
}

export interface StackOptions extends Partial<
  Pick<GatehouseOptions, 'flags' | 'environment' | 'unready' | 'stdout' | 'within'>
> {
  /** Documents of resources.yaml; port is that of Stack.origin. */
  readonly resources: (port: number) => readonly object[]
  /** Path of a program that is run as Envoy. */
  readonly envoy?: string
  /**
   * Whether it needs a process that nobody has used: the test ends it, or counts what it has done since its start. Default:
   * if any other option says how to start it.
   */
  readonly own?: boolean
}

/**
 * Returns a stack that serves the resources: one that other files of this worker have used, or one of its own. Only files of
 * one process can share one (vitest.config.ts: sharesStacks).
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  return isOwn(options) ? startOwn(options) : ofThisWorker(options, startOwn)
}

/** Options of a start that no other file has asked for. */
const START = ['envoy', 'unready', 'stdout', 'within'] as const

const isOwn = ({ own, flags = [], environment = {}, ...options }: StackOptions): boolean =>
  own ??
  (inject('sharesStacks') !== true ||
    flags.length > 0 ||
    Object.keys(environment).length > 0 ||
    START.some((option) => options[option] !== undefined))

/** Starts `gatehouse run`. Retries with other ports if one was taken before it was bound. */
async function startOwn(options: StackOptions, attempts = 3): Promise<Stack> {
  try {
    return await tryStack(options)
  } catch (failure) {
    if (attempts === 1 || !String(failure).includes('in use by another process')) throw failure
    return startOwn(options, attempts - 1)
  }
}

async function tryStack({ resources, envoy, flags, ...more }: StackOptions): Promise<Stack> {
  const port = await freePort()
  const envoyAdminPort = await freePort()
  const documents = resources(port)
  const gatehouse = await startGatehouse({
    ...more,
    command: 'run',
    resources: documents,
    flags: [
      '--envoy',
      envoy ?? envoyPath(),
      '--envoy-admin',
      `127.0.0.1:${String(envoyAdminPort)}`,
      '--listen-address',
      '127.0.0.1',
      ...(flags ?? []),
    ],
  })
  if (more.unready !== true) await untilListening(documents, port)
  return {
    ...gatehouse,
    port,
    origin: `http://127.0.0.1:${String(port)}`,
    envoyAdmin: `http://127.0.0.1:${String(envoyAdminPort)}`,
  }
}
