// Derives the gateway's address and Gatehouse's settings for the demo: on loopback, and with free ports.

import type { Settings } from '../settings.js'
import { CONFIG_PORTS } from './demo-parties.js'
import { aPort, thePort } from './free-port.js'

const LOOPBACK = '127.0.0.1'
const ANY_ADDRESS = ['0.0.0.0', '::']
/** Enough for a demo's requests; with more, a client's open event stream would delay every Ctrl-C. */
const DRAIN_MS = 1000

/** Returns the address that the gateway listens on: loopback, unless the user gave one. */
export const listenAddress = ({ given, listenAddress: wanted }: Settings): string =>
  given.has('listenAddress') ? wanted : LOOPBACK

/** Returns where clients reach the gateway. Rejects with the system's error when its port is not free. */
export async function gatewayAddress(
  settings: Settings,
): Promise<{ readonly host: string; readonly port: number }> {
  const host = listenAddress(settings)
  const port = await thePort(settings.port ?? CONFIG_PORTS.gateway, host)
  return { host: ANY_ADDRESS.includes(host) ? LOOPBACK : host, port }
}

/** Returns settings in which defaults, but not given values, avoid what else runs on this machine. */
export async function appSettings(settings: Settings): Promise<Settings> {
  const { given, admin, drainTimeout } = settings
  return {
    ...settings,
    listenAddress: listenAddress(settings),
    drainTimeout: given.has('drainTimeout') ? drainTimeout : DRAIN_MS,
    admin:
      given.has('admin') || admin.type === 'unix'
        ? admin
        : { ...admin, port: await aPort(admin.port) },
  }
}
