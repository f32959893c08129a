// Formats what is served, where, and what is open as one screen for a terminal. Pure, and bounded however much is served.

import { inOneLine } from '../../model/status.js'
import type { Sample, ServedListener, ServedRoute } from './served-routes.js'
import type { ReportedCondition, ReportedResource } from './status-report.js'

/** The data of the screen. Texts may hold anything: they are escaped here. */
export interface StartReport {
  /** Revision of the configuration in force. */
  readonly revision: string
  /** Name and value of each address. */
  readonly addresses: readonly (readonly [name: string, value: string])[]
  /** Absent: the Gateways belong to a mesh. */
  readonly listeners?: readonly ServedListener[]
  /** All routes, in the order in which they are shown. */
  readonly routes: readonly ServedRoute[]
  readonly problems: readonly StartProblem[]
  /** Number of key sets that have not been fetched yet. */
  readonly missingKeySets: number
  /** Where to see all routes; absent: nowhere. */
  readonly more?: string
  /** What to do next: a purpose, and a command or address. */
  readonly next: readonly (readonly [purpose: string, what: string])[]
}

/** A resource with a condition that reports a problem. */
export interface StartProblem {
  readonly resource: ReportedResource
  readonly condition: ReportedCondition
}

/** The terminal to format for. */
export interface TerminalForm {
  readonly columns: number
  readonly rows: number
  readonly hasColour: boolean
}

const BOLD = '1'
const DIM = '2'
const RED = '31'
const GREEN = '32'
const YELLOW = '33'

/** Largest number of lines of each part. */
const MAX_LISTENERS = 6
const MAX_OPEN = 8
const MAX_PROBLEMS = 5
const MIN_ROUTES = 3
const MAX_ROUTES = 20
/** Narrower terminals are treated as this wide: they wrap the lines. */
const MIN_COLUMNS = 40
const MAX_COLUMNS = 160
/** Largest number of lines of the text of a problem. */
const MAX_PROBLEM_LINES = 2
const INDENT = '    '

/** Text with the colour that it gets once it is cut. */
type Part = readonly [text: string, colour?: string]
type Line = readonly Part[]

/** Returns the screen, which ends with a newline. */
export function startScreen(report: StartReport, form: TerminalForm): string {
  const columns = Math.min(Math.max(form.columns, MIN_COLUMNS), MAX_COLUMNS)
  const before = [
    [[`Gatehouse serves configuration ${report.revision}`, BOLD] as const],
    ...pairs(report.addresses),
    ...listenerLines(report.listeners),
    ...openLines(report, columns),
    ...problemLines(report, columns),
    ...remarkLines(report),
  ]
  // Commands are to be copied, so the terminal wraps them.
  const after = part([['Next', BOLD]], pairs(report.next))
  // A heading, the line about the rest, empty lines at both ends, and the prompt.
  const free = form.rows - before.length - after.length - 5
  const room = Math.min(Math.max(free, MIN_ROUTES), MAX_ROUTES)
  const lines = [...before, ...routeLines(report, room, columns)]
  const paint = (line: Line): string => paintLine(line, columns, form.hasColour)
  const whole = (line: Line): string => paintLine(line, Infinity, form.hasColour)
  return `\n${[...lines.map(paint), ...after.map(whole)].join('\n')}\n\n`
}

/** A heading with its lines, after an empty line; nothing if there are no lines. */
const part = (heading: Line, lines: readonly Line[]): readonly Line[] =>
  lines.length === 0 ? [] : [[], heading, ...lines]

function pairs(entries: StartReport['addresses']): readonly Line[] {
  const width = Math.max(0, ...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => [[`  ${name.padEnd(width)}  `, DIM], [value]])
}

function listenerLines(listeners: StartReport['listeners']): readonly Line[] {
  if (listeners === undefined) return part([['Listeners', BOLD]], [[['  those of the mesh']]])
  if (listeners.length === 0)
    return part([['Listeners', BOLD]], [[['  none: no Gateway is in force', YELLOW]]])
  const shown = listeners
    .slice(0, MAX_LISTENERS)
    .map(({ port, isTls, gateway, hosts }): Line => [
      [`  ${String(port).padEnd(5)}  ${isTls ? 'https' : 'http '}  ${gateway}  `],
      hosts.count === 0 ? ['no routes', YELLOW] : [hostsText(hosts)],
    ])
  return part([['Listeners', BOLD]], [...shown, ...rest(listeners.length - MAX_LISTENERS)])
}

const hostsText = (hosts: Sample): string =>
  hosts.first.includes('*') && hosts.count === 1 ? 'any host' : sampleText(hosts)

const sampleText = ({ first, count }: Sample): string =>
  `${first.join(', ')}${count > first.length ? ` and ${number(count - first.length)} more` : ''}`

function openLines({ routes, more }: StartReport, columns: number): readonly Line[] {
  const open = routes.filter(({ isOpen }) => isOpen)
  return part(
    [[`Open routes (${number(open.length)}): no policy decides who may use them`, YELLOW]],
    [...rows(open.slice(0, MAX_OPEN), columns, YELLOW), ...rest(open.length - MAX_OPEN, more)],
  )
}

function problemLines({ problems, more }: StartReport, columns: number): readonly Line[] {
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .flatMap(({ resource, condition }): Line[] => [
      [[`  ${resourceText(resource)}`, RED]],
      ...wrapped(escaped(conditionText(condition)), columns - INDENT.length).map((text): Line => [
        [INDENT + text],
      ]),
    ])
  return part(
    [[`Problems (${number(problems.length)})`, RED]],
    [...shown, ...rest(problems.length - MAX_PROBLEMS, more)],
  )
}

const resourceText = ({ kind, namespace, name, source }: ReportedResource): string =>
  `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${source})`

const conditionText = ({ type, status, reason, message }: ReportedCondition): string =>
  `${type}=${status} (${reason}): ${inOneLine(message)}`

/** What is well, and what is not yet known. */
function remarkLines({ routes, problems, missingKeySets }: StartReport): readonly Line[] {
  const isWell = problems.length === 0 && !routes.some(({ isOpen }) => isOpen)
  return [
    ...(isWell ? [[], [['No open routes, no problems', GREEN] as const]] : []),
    ...(missingKeySets === 0
      ? []
      : [
          [],
          [[`Key sets not fetched yet: ${number(missingKeySets)}`, BOLD] as const],
          [[WAITING] as const],
        ]),
  ]
}

const WAITING = '  Until they are, tokens that need them get 503.'

function routeLines({ routes, more }: StartReport, room: number, columns: number): readonly Line[] {
  const others = routes.filter(({ isOpen }) => !isOpen)
  const heading = others.length < routes.length ? 'Other routes' : 'Routes'
  // A line about a single route would take as much room as the route.
  const shown = others.length === room + 1 ? room + 1 : room
  return part(
    [[`${heading} (${number(others.length)})`, BOLD]],
    [...rows(others.slice(0, shown), columns), ...rest(others.length - shown, more)],
  )
}

/** Says how many are not shown. */
const rest = (count: number, more?: string): readonly Line[] =>
  count <= 0 ? [] : [[[`  and ${number(count)} more${more === undefined ? '' : `: ${more}`}`, DIM]]]

/** One line per route: name, guards and places, the first two in columns of at most a third of the width. */
function rows(routes: readonly ServedRoute[], columns: number, colour?: string): readonly Line[] {
  const most = Math.floor((columns - 6) / 3)
  const names = routes.map(({ name }) => escaped(name))
  const guards = routes.map(guardsText)
  const nameWidth = Math.min(most, Math.max(0, ...names.map(widthOf)))
  const guardsWidth = Math.min(most, Math.max(0, ...guards.map(widthOf)))
  return routes.map(({ isRefusing, places }, index) => [
    [`  ${fitted(names[index] ?? '', nameWidth)}  `, colour],
    [fitted(guards[index] ?? '', guardsWidth), colour ?? (isRefusing ? RED : undefined)],
    [`  ${sampleText(places)}`, DIM],
  ])
}

const guardsText = ({ guards, isOpen }: ServedRoute): string =>
  [...(isOpen ? ['open'] : []), ...guards].join(', ')

const number = (count: number): string => count.toLocaleString('en-US')

/** Cuts a line at the width of the terminal, and only then adds colours. */
function paintLine(line: Line, columns: number, hasColour: boolean): string {
  let left = columns
  return line
    .map(([text, colour]) => {
      const shown = cut(escaped(text), left)
      left -= widthOf(shown)
      const isPlain = colour === undefined || !hasColour || shown === ''
      return isPlain ? shown : `\u001b[${colour}m${shown}\u001b[0m`
    })
    .join('')
    .trimEnd()
}

/** Escapes what a terminal could obey or hide: control, format and unassigned characters, and line separators. */
const escaped = (text: string): string =>
  text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )

/** Splits a text between words; the last line is cut. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let left = text
  while (lines.length < MAX_PROBLEM_LINES - 1 && cut(left, width) !== left) {
    const end = cut(left, width).lastIndexOf(' ')
    if (end <= 0) break
    lines.push(left.slice(0, end))
    left = left.slice(end + 1)
  }
  return [...lines, left]
}

function fitted(text: string, width: number): string {
  const shown = cut(text, width)
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)))
}

/** Cuts a text to a width; "…" marks the cut. */
function cut(text: string, width: number): string {
  // A character takes at least one column or is rare: a longer text need not be measured whole.
  const start = text.slice(0, 4 * (width + 1))
  if (start.length === text.length && widthOf(text) <= width) return text
  let shown = ''
  let left = width - 1
  for (const character of start) {
    left -= widthOf(character)
    if (left < 0) break
    shown += character
  }
  return width <= 0 ? '' : `${shown}…`
}

/** First code point of the scripts and symbols that terminals may show in two columns. */
const WIDE_FROM = 0x1100
/** Characters beyond it that take one column: Latin and Greek letters, punctuation, arrows. */
const NARROW = /[\u1e00-\u2319]/

/** An upper bound of the columns that a text takes. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text)
    width += (character.codePointAt(0) ?? 0) >= WIDE_FROM && !NARROW.test(character) ? 2 : 1
  return width
}
