// Starts what checks are measured with: the no-op server, Gatehouse with a policy of its own, and an Envoy before both.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envoyConfig, type Variant, VARIANTS } from './envoy-config.js'
import { startEnvoy, startGatehouse } from './gatehouse.js'
import type { Target } from './measure.js'
import { backend, gatewayAt, policy, route } from './objects.js'
import { freePort, freePorts, runScript, stop } from './processes.js'
import { AUDIENCE, ISSUER, type Keys } from './tokens.js'

export interface Parties {
  readonly targets: Readonly<Record<Variant, Target>>
  /** Milliseconds from the start of Gatehouse's process to /readyz saying 200. */
  readonly startupMs: number
  close(): Promise<void>
}

export async function startParties(keys: Keys): Promise<Parties> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const sockets = { noop: join(folder, 'noop.sock'), gatehouse: join(folder, 'gatehouse.sock') }
  const noop = await runScript('noop-server', [`unix:${sockets.noop}`])
  const gatehouse = await startGatehouse(folder, sockets.gatehouse, resources(keys))
  const ports = await freePorts(VARIANTS)
  const admin = await freePort()
  const envoy = await startEnvoy(
    folder,
    admin,
    envoyConfig({
      ...{ admin, ports, ...sockets },
      ...{ issuer: ISSUER, audience: AUDIENCE, jwks: keys.jwks, route: 'default/mcp/0' },
    }),
  )
  const target = (variant: Variant, serverPid?: number): Target => ({
    ...{ port: ports[variant], envoyPid: envoy.pid, serverPid },
  })
  return {
    targets: {
      'no filter': target('no filter'),
      'jwt_authn + rbac': target('jwt_authn + rbac'),
      'no-op ext_authz': target('no-op ext_authz', noop.pid),
      Gatehouse: target('Gatehouse', gatehouse.pid),
    },
    startupMs: gatehouse.startupMs,
    close: async () => {
      await stop([envoy, gatehouse, noop])
      await rm(folder, { recursive: true })
    },
  }
}

/** One route, one policy: what the demo's says, with the keys written into it. */
function resources(keys: Keys): readonly object[] {
  const jwks = { inline: JSON.stringify(keys.jwks) }
  const traffic = {
    jwtAuthentication: { providers: [{ issuer: ISSUER, audiences: [AUDIENCE], jwks }] },
    authorization: { policy: { matchExpressions: ['"mcp-users" in jwt.groups'] } },
  }
  return [gatewayAt(8080), route('mcp'), backend('mcp', 9), policy('mcp', { traffic })]
}
