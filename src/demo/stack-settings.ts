// Settings of the demo → where its gateway is and what its Gatehouse runs with: loopback, and ports that are free.

import type { Settings } from '../settings.js'
import { CONFIG_PORTS } from './demo-parties.js'
import { aPort, thePort } from './free-port.js'

const LOOPBACK = '127.0.0.1'
const ANY_ADDRESS = ['0.0.0.0', '::']
/** Enough for what is under way in a demo; a client's open event stream would otherwise hold up every Ctrl-C. */
const DRAIN_MS = 1000

export const listenAddress = ({ given, listenAddress: wanted }: Settings): string =>
  given.has('listenAddress') ? wanted : LOOPBACK

/** Where clients reach the gateway. Rejects with the system's error when its port cannot be had. */
export async function gatewayAddress(
  settings: Settings,
): Promise<{ readonly host: string; readonly port: number }> {
  const host = listenAddress(settings)
  const port = await thePort(settings.port ?? CONFIG_PORTS.gateway, host)
  return { host: ANY_ADDRESS.includes(host) ? LOOPBACK : host, port }
}

/** What the user left to the defaults gives way to what else runs on this machine. */
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
