// Parses arguments and environment into the Settings of a command, or into a message for each mistake in them.
// The only file that knows process.env; the table of flags is settings/flags.ts. A library for commands (commander) is
// not used: it stops at the first mistake, and the table would remain, as help, variables and docs/settings.md are
// generated from it.

import { parseArgs, type ParseArgsConfig } from 'node:util'
import { similarWord } from '../../kit/similar.js'
import { addressChecks } from './address-checks.js'
import { type CommandName, commandNames, COMMANDS } from './commands.js'
import { explainChecks } from './explain-checks.js'
import { type FlagKey, flagName, FLAGS, flagsOf, type FlagValues, variableName } from './flags.js'
import { commandHelp, overview } from './help.js'
import { meshChecks, servedMeshChecks } from './mesh-checks.js'
import { provisionChecks } from './provision-checks.js'
import { readTelemetry } from './telemetry.js'

/** Values of all flags, and the rest of the command line. */
export interface Settings extends FlagValues {
  readonly command: CommandName
  /** Operands: the paths of check and translate, the kind of schema. */
  readonly paths: readonly string[]
  /** Flags that were set, by argument or environment, as opposed to defaults. */
  readonly given: ReadonlySet<FlagKey>
  readonly environment: Environment
}

/** Environment variables. Gatehouse also reads some that belong to no flag. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What a command line asks for. */
export type CommandLine =
  | { readonly type: 'settings'; readonly settings: Settings }
  /** Help text for stdout. */
  | { readonly type: 'help'; readonly text: string }
  | { readonly type: 'version' }
  /** Messages for stderr, with exit code 2. */
  | { readonly type: 'wrong'; readonly sentences: readonly string[] }

/** Returns the environment of this process. */
export const ownEnvironment = (): Environment => process.env

/** Parses a command line. args: without the interpreter and the script. */
export function parseCommandLine(args: readonly string[], environment: Environment): CommandLine {
  const [first, ...rest] = args
  if (first === '--version' || first === '-v' || first === 'version') return { type: 'version' }
  if (first === undefined) return wrong('a command is missing', 'run "gatehouse help" for the list')
  if (first === '--help' || first === '-h') return { type: 'help', text: overview() }
  if (first === 'help') return help(rest[0])
  if (!isCommand(first)) return unknownCommand(first)
  return parseFlags(first, rest, environment)
}

const wrong = (...parts: readonly string[]): CommandLine => ({
  type: 'wrong',
  sentences: [parts.join('; ')],
})

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word)

function help(command: string | undefined): CommandLine {
  if (command === undefined) return { type: 'help', text: overview() }
  return isCommand(command) ? { type: 'help', text: commandHelp(command) } : unknownCommand(command)
}

function unknownCommand(word: string): CommandLine {
  if (word.startsWith('-')) return wrong(`${word} stands before the command`, 'put flags behind it')
  const near = similarWord(word, commandNames)
  return wrong(
    `"${word}" is not a command`,
    near === undefined ? `expected one of ${commandNames.join(', ')}` : `did you mean "${near}"?`,
  )
}

interface Given {
  readonly texts: Map<FlagKey, string[]>
  /** Keys whose texts come from an environment variable. */
  readonly variables: Set<FlagKey>
  readonly paths: string[]
  readonly sentences: string[]
  help: boolean
}

function parseFlags(
  command: CommandName,
  args: readonly string[],
  environment: Environment,
): CommandLine {
  const given = readArguments(command, args)
  if (given.help) return { type: 'help', text: commandHelp(command) }
  readEnvironment(command, environment, given)
  const values = readValues(command, given)
  const settings: Settings = {
    ...values,
    command,
    paths: given.paths,
    given: new Set(given.texts.keys()),
    environment,
  }
  const sentences = [...given.sentences]
  if (sentences.length === 0) sentences.push(...crossChecks(settings))
  return sentences.length > 0 ? { type: 'wrong', sentences } : { type: 'settings', settings }
}

/** Reads the texts of flags and the operands from the arguments. */
function readArguments(command: CommandName, args: readonly string[]): Given {
  const keys = new Map(flagsOf(command).map((key) => [flagName(key), key]))
  const options: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean', short: 'h' } }
  for (const [name, key] of keys)
    options[name] = { type: FLAGS[key].value === undefined ? 'boolean' : 'string' }
  const given: Given = {
    texts: new Map(),
    variables: new Set(),
    paths: [],
    sentences: [],
    help: false,
  }
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'positional') given.paths.push(token.value)
    if (token.kind === 'option' && token.name === 'help') given.help = true
    else if (token.kind === 'option') readOption(command, keys.get(token.name), token, given)
  }
  if (
    given.sentences.length === 0 &&
    given.paths.length > 0 &&
    COMMANDS[command].operands === undefined
  )
    given.sentences.push(
      `"${given.paths.join(' ')}" is too much; "gatehouse ${command}" takes flags only`,
    )
  return given
}

interface Option {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function readOption(
  command: CommandName,
  key: FlagKey | undefined,
  option: Option,
  given: Given,
): void {
  if (key === undefined) {
    given.sentences.push(unknownFlag(command, option.rawName))
    return
  }
  const flag = FLAGS[key]
  const isSwitch = flag.value === undefined
  const swallowed = option.inlineValue !== true && option.value?.startsWith('--') === true
  if (!isSwitch && (option.value === undefined || swallowed)) {
    given.sentences.push(`${option.rawName} needs a value: ${option.rawName} ${flag.value ?? ''}`)
    return
  }
  const before = given.texts.get(key) ?? []
  if (before.length > 0 && !flag.many)
    given.sentences.push(`${option.rawName} is given more than once`)
  given.texts.set(key, [...before, option.value ?? 'true'])
}

function unknownFlag(command: CommandName, raw: string): string {
  const all = new Map((Object.keys(FLAGS) as FlagKey[]).map((key) => [`--${flagName(key)}`, key]))
  const key = all.get(raw)
  if (key !== undefined)
    return `${raw} is not a flag of "gatehouse ${command}"; it belongs to ${FLAGS[key].commands.join(', ')}`
  const near = similarWord(
    raw,
    flagsOf(command).map((own) => `--${flagName(own)}`),
  )
  const hint = near === undefined ? `see "gatehouse ${command} --help"` : `did you mean ${near}?`
  return `${raw} is not a flag of "gatehouse ${command}"; ${hint}`
}

function readEnvironment(command: CommandName, environment: Environment, given: Given): void {
  for (const key of flagsOf(command)) {
    const text = environment[variableName(key)] ?? ''
    if (text === '' || given.texts.has(key)) continue
    given.texts.set(key, FLAGS[key].many ? text.split(',') : [text])
    given.variables.add(key)
  }
}

/** Converts the texts to values and adds a sentence to given.sentences for each text that is invalid. */
function readValues(command: CommandName, given: Given): FlagValues {
  const own = new Set(flagsOf(command))
  const values: Partial<Record<FlagKey, unknown>> = {}
  for (const key of Object.keys(FLAGS) as FlagKey[]) {
    const flag = FLAGS[key]
    const texts = (own.has(key) ? given.texts.get(key) : undefined) ?? presets(flag.default)
    const read = texts.map((text) => {
      const result = flag.read(text)
      if (result.ok) return result.value
      const name = given.variables.has(key) ? variableName(key) : `--${flagName(key)}`
      given.sentences.push(`${name} "${text}": expected ${result.error}`)
      return undefined
    })
    values[key] = flag.many ? read : read[0]
  }
  return values as FlagValues
}

const presets = (preset: string | undefined): readonly string[] =>
  preset === undefined ? [] : [preset]

/** Checks that involve several flags or the operands. */
function crossChecks(settings: Settings): readonly string[] {
  const sentences: string[] = []
  const { command, paths, resources, grpcTlsCert, grpcTlsKey, grpcClientCa } = settings
  if (COMMANDS[command].operands === 'PATH...' && paths.length === 0)
    sentences.push(`a path is missing; usage: gatehouse ${command} PATH...`)
  if (command === 'run' && resources.length === 0)
    sentences.push('--resources is missing; usage: gatehouse run --resources PATH')
  sentences.push(...meshChecks(settings))
  if (command === 'explain') sentences.push(...explainChecks(settings, settings.given.has('admin')))
  if (command === 'serve')
    sentences.push(
      ...sourceOfResources(settings),
      ...servedMeshChecks(settings),
      ...provisionChecks(settings),
    )
  if ((grpcTlsCert === undefined) !== (grpcTlsKey === undefined))
    sentences.push('--grpc-tls-cert and --grpc-tls-key belong together; expected both or neither')
  if (grpcClientCa !== undefined && grpcTlsCert === undefined)
    sentences.push('--grpc-client-ca needs --grpc-tls-cert and --grpc-tls-key')
  sentences.push(...heldBytes(settings))
  sentences.push(...addressChecks(settings, settings.given.has('grpc')), ...telemetry(settings))
  return sentences
}

/** Reads the variables of OpenTelemetry, which only the servers use. */
function telemetry({ command, environment, otlp }: Settings): readonly string[] {
  if (!COMMANDS_WITH_TELEMETRY.has(command)) return []
  const read = readTelemetry(environment, otlp)
  return read.ok ? [] : [read.error]
}

const COMMANDS_WITH_TELEMETRY: ReadonlySet<CommandName> = new Set(['run', 'serve', 'demo'])

/**
 * Requires three times --max-body-bytes, as a body is held together with its text and the question about it, and once
 * --mcp-body-bytes.
 */
function heldBytes({ heldBytes, maxBodyBytes, mcpBodyBytes }: Settings): readonly string[] {
  const most = heldBytes ?? Infinity
  if (most < 3 * maxBodyBytes)
    return [
      '--held-bytes is less than three times --max-body-bytes: a body of that size never passed',
    ]
  return most < mcpBodyBytes
    ? ['--held-bytes is less than --mcp-body-bytes: a body of that size never passed']
    : []
}

function sourceOfResources(settings: Settings): readonly string[] {
  const { kubernetes, resources, namespace, statusLease } = settings
  if (kubernetes) {
    if (statusLease !== undefined && settings.for !== undefined)
      return ['--status-lease and --for exclude each other: each release applies its own manifests']
    return resources.length > 0
      ? ['--kubernetes and --resources exclude each other: resources come from one place']
      : []
  }
  if (statusLease !== undefined) return ['--status-lease belongs to --kubernetes']
  if (namespace.length > 0) return ['--namespace belongs to --kubernetes']
  return resources.length > 0
    ? []
    : ['--resources or --kubernetes is missing; usage: gatehouse serve --resources PATH']
}
