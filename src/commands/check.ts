// gatehouse check: files → what is wrong with them, line by line, and whether there is anything.

import type { RemoteTarget, WantedDocument } from '../ir/remote-target.js'
import { type Condition, isBad, placeOf, remarksOf, type ResourceStatus } from '../ir/status.js'
import { problemLine } from '../resources/decode/problem-line.js'
import { NOTHING_SERVED } from '../resources/files/file-provider.js'
import type { ProviderState, Resources } from '../resources/kinds/resources.js'
import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { idleNotes } from './idle-resources.js'
import { type Offline, translateOffline } from './offline.js'

export async function check(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const report = reportCheck(await translateOffline(settings), settings.apiGroup)
  io.out(report.text)
  return report.isGood ? 0 : 1
}

export interface CheckReport {
  readonly isGood: boolean
  readonly text: string
}

export function reportCheck({ provider, translation }: Offline, apiGroup: string): CheckReport {
  const findings = translation.statuses.flatMap((status) => findingsOf(status, provider.resources))
  const wrong = findings.filter(({ isWrong }) => isWrong)
  const isGood = provider.problems.length === 0 && wrong.length === 0
  const lines = [
    ...provider.problems.map(problemLine),
    ...(provider.notes ?? []).map(({ source, message }) => `${source}: note: ${message}`),
    ...findings.map(({ line }) => line),
    ...idleNotes(provider.resources, apiGroup),
    ...translation.wanted.map(uncheckedLine),
    summary(provider, wrong.length),
  ]
  return { isGood, text: `${lines.join('\n')}\n` }
}

function uncheckedLine({ kind, targets }: WantedDocument): string {
  const what = kind === 'KeySet' ? 'key set' : 'discovery document'
  const doubt = targets.some(isPlainOnTlsPort)
    ? '; it is asked for without TLS although the port is 443: is a BackendTLSPolicy missing?'
    : ''
  return `note: ${targets[0]?.url ?? ''} (${what}) is not checked offline${doubt}`
}

const isPlainOnTlsPort = ({ tls, endpoints }: RemoteTarget): boolean =>
  tls === undefined && endpoints.type === 'name' && endpoints.port === 443

interface Finding {
  readonly isWrong: boolean
  readonly line: string
}

function findingsOf(status: ResourceStatus, resources: Resources): readonly Finding[] {
  const source = sourceOf(status, resources)
  const name = status.namespace === '' ? status.name : `${status.namespace}/${status.name}`
  return status.conditions.filter(isCheckedOffline).flatMap((condition) => {
    const isWrong = isBad(condition)
    const lines = isWrong ? condition.message.split('\n') : remarksOf(condition).filter(isNews)
    if (lines.length === 0) return []
    const what = `${status.kind} ${name}: ${headOf(condition)}: ${lines.join('; ')}`
    return [{ isWrong, line: `${source}: ${isWrong ? '' : 'note: '}${what}` }]
  })
}

/** Here every key set is one that was never fetched. */
const isCheckedOffline = ({ reason }: Condition): boolean => reason !== 'KeySetUnavailable'

/** Offline this goes without saying. */
const isNews = (line: string): boolean => !line.endsWith('has not been fetched yet')

function headOf(condition: Condition): string {
  const { type, status, reason } = condition
  const place = placeOf(condition)
  return `${type}=${status} (${reason})${place === '' ? '' : ` on ${place}`}`
}

function sourceOf(status: ResourceStatus, resources: Resources): string {
  const all = Object.values(resources as unknown as Record<string, Resources['secrets']>).flat()
  const found = all.find(
    ({ apiVersion, kind, metadata }) =>
      apiVersion === status.apiVersion &&
      kind === status.kind &&
      metadata.namespace === status.namespace &&
      metadata.name === status.name,
  )
  return found?.source ?? status.kind
}

function summary({ resources, problems }: ProviderState, wrong: number): string {
  const count = Object.values(resources as unknown as Record<string, readonly unknown[]>).flat()
    .length
  const read = `${count} resource${count === 1 ? '' : 's'} read`
  if (problems.length + wrong === 0)
    return count === 0 ? `${read}: ${NOTHING_SERVED}` : `${read}; all is well`
  return `${read}; ${problems.length} problem${problems.length === 1 ? '' : 's'} in documents, ${wrong} in what they mean`
}
