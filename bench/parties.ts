// Starts everything that the check benchmark needs: no-op servers, OPA-Envoy, Gatehouse with a policy, and an Envoy in front.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnsweringServer } from './answering-server.js'
import { envoyConfig, type Variant, VARIANTS } from './envoy-config.js'
import { startEnvoy, startGatehouse } from './gatehouse.js'
import { goPrograms } from './go-programs.js'
import type { Target } from './measure.js'
import { backend, gatewayAt, policy, route } from './objects.js'
import { startOpaEnvoy } from './opa-envoy.js'
import { freePort, freePorts, type Party, runProgram, runScript, stop } from './processes.js'
import { AUDIENCE, ISSUER, type Keys } from './tokens.js'

export interface Parties {
  readonly targets: Readonly<Record<Variant, Target>>
  /** The variants whose server is available. */
  readonly present: ReadonlySet<Variant>
  /** Milliseconds from the start of Gatehouse's process until /readyz answers 200. */
  readonly startupMs: number
  close(): Promise<void>
}

export async function startParties(keys: Keys): Promise<Parties> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const socket = (name: string): string => join(folder, `${name}.sock`)
  const sockets = {
    'grpc-js no-op': socket('noop'),
    'Go no-op': socket('go'),
    'OPA-Envoy': socket('opa'),
    Gatehouse: socket('gatehouse'),
    'Gatehouse with OTLP': socket('otlp'),
    'Gatehouse with many tokens': socket('many'),
  }
  const noop = await runScript('noop-server', [`unix:${sockets['grpc-js no-op']}`])
  const go = await runProgram(goPrograms.noop, [sockets['Go no-op']])
  const rule = { jwks: keys.jwks, issuer: ISSUER, audience: AUDIENCE }
  const opa = await startOpaEnvoy(folder, sockets['OPA-Envoy'], rule)
  const gatehouse = await startGatehouse(sockets.Gatehouse, resources(keys))
  const collector = await startAnsweringServer()
  const exporting = await startGatehouse(sockets['Gatehouse with OTLP'], resources(keys), [
    '--otlp',
    `http://127.0.0.1:${String(collector.port)}`,
  ])
  const many = await startGatehouse(sockets['Gatehouse with many tokens'], resources(keys))
  const ports = await freePorts(VARIANTS)
  const admin = await freePort()
  const config = envoyConfig({
    admin,
    ports,
    sockets,
    ...rule,
    route: 'default/mcp/0',
  })
  const envoy = await startEnvoy(folder, admin, config)
  const target = (variant: Variant, server?: Party): Target => ({
    port: ports[variant],
    envoyPid: envoy.pid,
    serverPid: server?.pid,
  })
  return {
    targets: {
      'no filter': target('no filter'),
      'jwt_authn + rbac': target('jwt_authn + rbac'),
      'grpc-js no-op': target('grpc-js no-op', noop),
      'Go no-op': target('Go no-op', go),
      'OPA-Envoy': target('OPA-Envoy', opa),
      Gatehouse: target('Gatehouse', gatehouse),
      'Gatehouse with OTLP': target('Gatehouse with OTLP', exporting),
      'Gatehouse with many tokens': target('Gatehouse with many tokens', many),
    },
    present: new Set(
      VARIANTS.filter(
        (variant) =>
          (variant !== 'Go no-op' || go !== undefined) &&
          (variant !== 'OPA-Envoy' || opa !== undefined),
      ),
    ),
    startupMs: gatehouse.startupMs,
    close: async () => {
      const all = [envoy, gatehouse, exporting, many, noop, go, opa]
      await stop(all.filter((party) => party !== undefined))
      collector.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** One route and one policy like the demo's, with inline keys. */
function resources(keys: Keys): readonly object[] {
  const jwks = { inline: JSON.stringify(keys.jwks) }
  const traffic = {
    jwtAuthentication: { providers: [{ issuer: ISSUER, audiences: [AUDIENCE], jwks }] },
    authorization: { policy: { matchExpressions: ['"mcp-users" in jwt.groups'] } },
  }
  return [gatewayAt(8080), route('mcp'), backend('mcp', 9), policy('mcp', { traffic })]
}
