import regexp from 'eslint-plugin-regexp'
import simpleImportSort from 'eslint-plugin-simple-import-sort'
import tseslint from 'typescript-eslint'

const RESTRICTED_SYNTAX = [
  {
    selector: 'ExportAllDeclaration',
    message: 'no barrels: import from the file that defines it',
  },
  {
    selector: 'SpreadElement > :matches(ObjectExpression, ArrayExpression).argument',
    message: 'write its members out',
  },
  {
    selector:
      ':matches(PropertyDefinition, MethodDefinition[kind!="constructor"])[accessibility="private"]',
    message: '#private; a parameter of a constructor may be private',
  },
  { selector: 'TSEnumDeclaration', message: 'a union of string literals instead' },
  {
    selector:
      ':matches(Program, ExportNamedDeclaration) > VariableDeclaration > VariableDeclarator[id.typeAnnotation=undefined] > ArrowFunctionExpression[body.type="BlockStatement"]',
    message: 'a function with a body is a declaration: function name() {}',
  },
]

export default tseslint.config(
  {
    ignores: [
      'dist',
      'node_modules',
      'src/wire/grpc/generated',
      'test/parties/node_modules',
      '.cache',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', '*.config.ts', 'scripts/*.mjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { 'simple-import-sort': simpleImportSort },
    rules: {
      eqeqeq: ['error', 'always'],
      // Node's own modules, packages, then files: those that are further away first.
      'simple-import-sort/imports': [
        'error',
        { groups: [['^node:', '^@?\\w', '^\\.\\.(?!/?$)', '^\\.']] },
      ],
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-syntax': ['error', ...RESTRICTED_SYNTAX],
    },
  },
  {
    // Rooms that make objects for each request or stream.
    files: ['src/{extauthz,extproc,wire,kit/json,kit/http}/**/*.ts'],
    // Expressions read own members of plain objects, which a getter converts when it is read.
    ignores: ['src/extauthz/cel/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...RESTRICTED_SYNTAX,
        {
          selector: 'ObjectExpression > Property[kind="get"]',
          message: 'a class or a method: V8 makes each object with a getter of its own slowly',
        },
      ],
    },
  },
  {
    files: ['**/*.js', 'scripts/**/*.mjs', '*.config.ts'],
    ...tseslint.configs.disableTypeChecked,
  },
  {
    // What a request, a token or an answer is matched with takes time in proportion to its length, whatever it is.
    files: ['src/**/*.ts', 'config/**/*.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false }],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'no-console': 'error',
      'max-lines-per-function': ['error', { max: 60 }],
    },
  },
)
