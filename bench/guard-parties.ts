// Starts everything that the guardrail benchmark needs: an LLM, three webhooks, the no-op processor, Gatehouse with a
// policy for each webhook, and an Envoy in front.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOLD_BACK } from './chat.js'
import { startEnvoy, startGatehouse } from './gatehouse.js'
import { goPrograms } from './go-programs.js'
import { GUARD_VARIANTS, guardEnvoy, type GuardVariant } from './guard-envoy.js'
import type { Target } from './measure.js'
import { backend, gatewayAt, OURS, policy, route } from './objects.js'
import { freePort, freePorts, runProgram, runScript, stop } from './processes.js'

export interface GuardParties {
  readonly targets: Readonly<Record<GuardVariant, Target>>
  /** Whether the server of the Go no-op is there. */
  readonly hasGo: boolean
  /** The webhook that allows immediately, called directly without Envoy. */
  readonly webhook: Target
  close(): Promise<void>
}

export async function startGuardParties(): Promise<GuardParties> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const socket = (name: string): string => join(folder, `${name}.sock`)
  const sockets = { noop: socket('noop'), go: socket('go'), gatehouse: socket('gatehouse') }
  const servers = await freePorts(['llm', 'allow', 'change', 'steady'])
  const llm = await runScript('llm-server', Object.values(servers).map(String))
  const noop = await runScript('noop-processor', [`unix:${sockets.noop}`])
  const go = await runProgram(goPrograms.noop, [sockets.go])
  const gatehouse = await startGatehouse(sockets.gatehouse, [
    gatewayAt(8080),
    ...guarded('allow', servers.allow),
    ...guarded('change', servers.change),
    ...guarded('steady', servers.steady, { holdBack: HOLD_BACK, minInterval: '50ms' }),
  ])
  const ports = await freePorts(GUARD_VARIANTS)
  const admin = await freePort()
  const config = guardEnvoy({ admin, ports, ...sockets, llmPort: servers.llm })
  const envoy = await startEnvoy(folder, admin, config)
  const target = (variant: GuardVariant, serverPid?: number): Target => ({
    port: ports[variant],
    envoyPid: envoy.pid,
    serverPid,
  })
  return {
    targets: {
      'no guard': target('no guard'),
      'no-op ext_proc': target('no-op ext_proc', noop.pid),
      'Go no-op ext_proc': target('Go no-op ext_proc', go?.pid),
      allow: target('allow', gatehouse.pid),
      change: target('change', gatehouse.pid),
      steady: target('steady', gatehouse.pid),
    },
    hasGo: go !== undefined,
    webhook: { port: servers.allow, envoyPid: envoy.pid, serverPid: undefined },
    close: async () => {
      await stop([envoy, gatehouse, noop, llm, ...(go === undefined ? [] : [go])])
      await rm(folder, { recursive: true })
    },
  }
}

/** A route guarded by the webhook at this port: prompts and replies, or replies only if `streams` is given. */
function guarded(name: string, port: number, streams?: object): readonly object[] {
  const backendRef = { group: OURS, kind: 'ProxyBackend', name: `${name}-webhook` }
  const response = [{ webhook: { backendRef, ...streams } }]
  const promptGuard = streams === undefined ? { request: response, response } : { response }
  return [
    route(name),
    backend(name, 9),
    backend(backendRef.name, port),
    policy(name, { backend: { ai: { promptGuard } } }),
  ]
}
