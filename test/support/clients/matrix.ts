// The table of docs/clients.md that shows which client was run with which provider. Each run compares its outcome with the
// table's cell.

import { expect } from 'vitest'
import { documentText } from '../documented-yaml.js'

const COLUMNS = {
  'oidc-provider': { Gateway: 1, Provider: 2, Relay: 3 },
  Keycloak: { Gateway: 4, Provider: 5, Relay: 6 },
} as const

/** Beginnings of the rows' names. */
const ROWS = {
  ts1: 'TypeScript 1',
  ts2: 'TypeScript 2',
  python: 'Python',
  inspector: 'Inspector',
  conformance: 'conformance',
  person: 'a person',
} as const

export type MatrixClient = keyof typeof ROWS
export type MatrixProvider = keyof typeof COLUMNS
type Outcome = '`IssuerMismatchError`' | 'ok'

/** Fails unless docs/clients.md shows this outcome for the client. */
export function expectInMatrix(
  client: MatrixClient,
  provider: MatrixProvider,
  mode: 'Gateway' | 'Provider' | 'Relay',
  outcome: Outcome = 'ok',
): void {
  const row = matrixRows().find(([name = '']) => name.startsWith(ROWS[client]))
  expect(row?.[COLUMNS[provider][mode]], `docs/clients.md: ${client}, ${provider}, ${mode}`).toBe(
    outcome,
  )
}

/** Fails unless docs/clients.md shows that the client logged in again for another scope. */
export function expectInStepUpTable(
  client: MatrixClient,
  provider: MatrixProvider,
  mode: 'Provider' | 'Relay',
): void {
  const row = stepUpRows().find(([name = '']) => name.startsWith(ROWS[client]))
  const column = COLUMNS[provider][mode] - (provider === 'Keycloak' ? 2 : 1)
  expect(row?.[column], `docs/clients.md, step-up: ${client}, ${provider}, ${mode}`).toBe('ok')
}

/** The cells of the table of step-ups: as the other one, without Gateway. */
export const stepUpRows = (): readonly (readonly string[])[] => stepUps().slice(2)

export const stepUpHead = (): readonly string[] => stepUps()[0] ?? []

/** The table's cells, without those of its head. */
export const matrixRows = (): readonly (readonly string[])[] => matrix().slice(2)

export const matrixHead = (): readonly string[] => matrix()[0] ?? []

const matrix = (): readonly (readonly string[])[] => cellsOf('client')
const stepUps = (): readonly (readonly string[])[] => cellsOf('step-up')

/** corner: the first cell of the head. */
function cellsOf(corner: string): readonly (readonly string[])[] {
  const pattern = new RegExp(`^(\\| ${corner} +\\| oidc.*\\n(?:\\|.*\\n)+)`, 'm')
  const [, table = ''] = pattern.exec(documentText('docs/clients.md')) ?? []
  return table.split('\n').flatMap((line) => {
    const cells = line.split('|').slice(1, -1)
    return cells.length === 0 ? [] : [cells.map((cell) => cell.trim())]
  })
}
