// The walk of docs/mesh.md: its steps, with the commands for one mesh.

import { documentText } from '../../../support/documented-yaml.js'

export type MeshName = 'envoy-gateway' | 'istio'

export interface Step {
  readonly title: string
  readonly commands: string
  /** Texts that comments behind the commands promise as output, in order. */
  readonly promised: readonly string[]
}

/** How the paragraph begins that introduces commands for one mesh only. */
const INTRODUCTIONS: Readonly<Record<MeshName, RegExp>> = {
  'envoy-gateway': /^Envoy Gateway's /,
  istio: /^Istio's /,
}

/** A paragraph, or commands, which are indented. */
const BLOCKS = /(?:^ {4}.*\n(?:\n(?= {4}))?)+|(?:^\S.*\n)+/gm

export function stepsFor(mesh: MeshName): readonly Step[] {
  const [, section = ''] =
    /^## From an empty cluster\n([\s\S]*?)^## /m.exec(documentText('docs/mesh.md')) ?? []
  return section
    .split(/^### /m)
    .slice(1)
    .map((step) => stepOf(step, mesh))
}

function stepOf(step: string, mesh: MeshName): Step {
  const title = step.slice(0, step.indexOf('\n'))
  const blocks = step.slice(title.length + 1).match(BLOCKS) ?? []
  const commands = blocks
    .filter((block, index) => block.startsWith(' ') && isFor(mesh, blocks[index - 1] ?? ''))
    .join('')
    .replace(/^ {4}/gm, '')
  const promised = [...commands.matchAll(/ # (\w+)$/gm)].map(([, text = '']) => text)
  return { title, commands, promised }
}

const isFor = (mesh: MeshName, introduction: string): boolean =>
  INTRODUCTIONS[mesh].test(introduction) ||
  !Object.values(INTRODUCTIONS).some((one) => one.test(introduction))
