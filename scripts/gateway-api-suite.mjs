// The official Gateway API conformance suite, and the echo server that it sends requests to.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { root } from './stale.mjs'

const module = join(root, 'test/gateway-api/suite')

/** Returns the path of the suite, built if it is missing. */
export const conformanceSuite = (say) =>
  goProgram({
    name: 'gateway-api-suite',
    module,
    command: ['test', '-c'],
    takes: 'two minutes',
    say,
  })

/** Returns the path of the echo server, built if it is missing. */
export function echoServer(say) {
  const part = 'sigs.k8s.io/gateway-api/conformance/echo-basic'
  return goProgram({ name: 'echo-basic', module, part, say })
}

/**
 * Returns the names of the images in the manifests of the suite: those of the echo server, and others (a name server for
 * UDPRoutes), which need only run.
 */
export function suiteImages() {
  const folder = folderOf('sigs.k8s.io/gateway-api/conformance')
  const manifests = ['base', 'tests'].flatMap((part) =>
    readdirSync(join(folder, part))
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => readFileSync(join(folder, part, file), 'utf8')),
  )
  const all = [...new Set(manifests.join('\n').match(/(?<=image: )\S+/g))]
  const isEcho = (name) => name.includes('/echo-basic:')
  return { echo: all.filter(isEcho), others: all.filter((name) => !isEcho(name)) }
}

/** Returns the folder with the CRDs of the suite's version. */
export const suiteDefinitions = () =>
  join(folderOf('sigs.k8s.io/gateway-api'), 'config/crd/experimental')

function folderOf(dependency) {
  const list = ['list', '-m', '-f', '{{.Dir}}', dependency]
  return execFileSync('go', list, { cwd: module, encoding: 'utf8' }).trim()
}
