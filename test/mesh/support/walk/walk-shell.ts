// Runs the commands of a walk in bash, one step after the other, with kubectl and helm. What this machine cannot have is
// replaced: charts of a mesh, which the test installs itself, and a file on the web.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../../../kubernetes/support/chart.js'
import { toYaml } from '../../../support/resources.js'
import { gatewayApiDefinitions } from '../definitions.js'

export interface WalkShell {
  /** Runs the commands, which see the variables and functions of earlier ones. Resolves with what they print. */
  run(commands: string): Promise<string>
  close(): Promise<void>
}

/** Asks the test to install a mesh's chart, and waits until it has. */
const HELM = `#!/bin/sh
case "$*" in
  *' oci://'* | *' istio/'*) exec curl --silent --show-error --fail-with-body --data "$*" "$WALK_CHARTS" >&2 ;;
  'repo add '*) exit 0 ;;
esac
exec "$GATEHOUSE_TEST_HELM" "$@"`

/** Reads the CRDs of the Gateway API from this machine. */
const KUBECTL = `#!/bin/bash
exec "$GATEHOUSE_TEST_KUBECTL" "\${@/https:*\\/experimental-install.yaml/$WALK_GATEWAY_API}"`

/** What the commands name of the checkout. */
const FOLDERS = ['config', 'deploy'] as const

/**
 * @param kubeconfig path of the administrator's.
 * @param install installs a chart of the mesh, by the arguments of helm.
 */
export async function startWalkShell(
  kubeconfig: string,
  install: (args: string) => Promise<void>,
): Promise<WalkShell> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-walk-'))
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'helm'), HELM, { mode: 0o755 })
  await writeFile(join(bin, 'kubectl'), KUBECTL, { mode: 0o755 })
  const gatewayApi = join(folder, 'gateway-api.yaml')
  await writeFile(gatewayApi, toYaml(...gatewayApiDefinitions()))
  for (const name of FOLDERS) await symlink(join(ROOT, name), join(folder, name))
  const charts = createServer((request, response) => {
    let args = ''
    request.setEncoding('utf8').on('data', (text: string) => (args += text))
    request.on('end', () => {
      install(args).then(
        () => response.end(),
        (failure: unknown) => response.writeHead(500).end(String(failure)),
      )
    })
  }).listen(0, '127.0.0.1')
  await once(charts, 'listening')
  const variables = join(folder, 'variables')
  await writeFile(variables, '')
  const env = {
    ...process.env,
    HOME: folder,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    KUBECONFIG: kubeconfig,
    WALK_CHARTS: `http://127.0.0.1:${String((charts.address() as AddressInfo).port)}/`,
    WALK_GATEWAY_API: gatewayApi,
  }
  return {
    run: async (commands) => {
      const script = `set -eua -o pipefail\n. ${variables}\n${commands}\n{ export -p; declare -f; } > ${variables}`
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env })
      return stdout
    },
    close: async () => {
      charts.close()
      await rm(folder, { recursive: true })
    },
  }
}
