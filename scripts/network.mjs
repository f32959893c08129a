// A network namespace of its own for a command: its ports are nobody else's.

import { spawnSync } from 'node:child_process'
import { aptInstall, onPath } from './install.mjs'

/**
 * Returns the beginning of a command that runs the rest of it in a namespace with nothing but loopback.
 * @param addresses further addresses of the loopback device.
 */
export function ownNetwork(addresses, say) {
  if (onPath('ip') === undefined) aptInstall('ip', 'iproute2', say)
  const more = addresses.map((address) => `ip address add ${address}/32 dev lo`)
  const inside = ['ip link set lo up', ...more, 'exec "$@"'].join(' && ')
  return ['unshare', ...namespaces(), 'sh', '-ec', inside, 'sh']
}

/** Whether this user may make namespaces on this system. */
export const hasNamespaces = () =>
  process.platform === 'linux' &&
  spawnSync('unshare', [...namespaces(), 'true'], { stdio: 'ignore' }).status === 0

const namespaces = () => (process.getuid?.() === 0 ? ['-n'] : ['-r', '-n'])
