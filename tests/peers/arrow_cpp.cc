// arrow_cpp.cc - Arrow C++ as a peer of our asynchronous device streams, and the figures our own are held against.
//
// Built by tests/peers/build.py against the libarrow that pyarrow brings.  Called through ctypes, without the GIL.
#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/util/async_generator.h>
#include <arrow/util/future.h>
#include <arrow/util/thread_pool.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace {

std::shared_ptr<arrow::RecordBatch> MakeBatch(int64_t rows, int columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (int c = 0; c < columns; c++) {
    arrow::Int64Builder builder;
    for (int64_t i = 0; i < rows; i++) (void)builder.Append(i);
    arrays.push_back(builder.Finish().ValueOrDie());
    fields.push_back(arrow::field("c" + std::to_string(c), arrow::int64()));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, arrays);
}

struct Run {
  std::thread thread;
  ArrowAsyncDeviceStreamHandler handler{};
  int64_t batches = 0, rows = 0, metadata = 0;
  std::string error;
};

void Drain(Run* run, arrow::Future<arrow::AsyncRecordBatchGenerator> future) {
  auto made = future.MoveResult();
  if (!made.ok()) {
    run->error = made.status().ToString();
    return;
  }
  auto generator = made->generator;
  for (;;) {
    auto next = generator().MoveResult();
    if (!next.ok()) {
      run->error = next.status().ToString();
      return;
    }
    if (arrow::IsIterationEnd(*next)) return;
    run->batches++;
    run->rows += next->batch->num_rows();
    if (next->custom_metadata && next->custom_metadata->size()) run->metadata++;
  }
}

arrow::AsyncGenerator<std::shared_ptr<arrow::RecordBatch>> Generator(int64_t n, int64_t rows, int columns,
                                                                     int64_t fail_at) {
  auto batch = MakeBatch(rows, columns);
  auto at = std::make_shared<int64_t>(0);
  return [=]() -> arrow::Future<std::shared_ptr<arrow::RecordBatch>> {
    int64_t i = (*at)++;
    if (i == fail_at) return arrow::Status::IOError("the river ran dry");
    if (i >= n) return arrow::AsyncGeneratorEnd<std::shared_ptr<arrow::RecordBatch>>();
    return batch;
  };
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

extern "C" {

// A consumer of Arrow C++; peer_handler() goes to our producer, peer_join() waits for the end.
Run* peer_consume(uint64_t queue_size) {
  auto* run = new Run;
  auto future = arrow::CreateAsyncDeviceStreamHandler(&run->handler, arrow::internal::GetCpuThreadPool(), queue_size);
  run->thread = std::thread([run, future] { Drain(run, future); });
  return run;
}

void* peer_handler(Run* run) { return &run->handler; }

// A producer of Arrow C++ for our handler.  threads: through its thread pool, else all on the calling thread.
Run* peer_produce(void* handler, int64_t n, int64_t rows, int columns, int64_t fail_at, int threads) {
  auto* run = new Run;
  auto generator = Generator(n, rows, columns, fail_at);
  if (threads) {
    auto inner = generator;
    generator = [inner]() {
      return arrow::DeferNotOk(arrow::internal::GetCpuThreadPool()->Submit([inner] { return inner().MoveResult(); }));
    };
  }
  auto schema = MakeBatch(1, columns)->schema();
  run->thread = std::thread([=] {
    auto done = arrow::ExportAsyncRecordBatchReader(schema, generator, arrow::DeviceAllocationType::kCPU,
                                                    static_cast<ArrowAsyncDeviceStreamHandler*>(handler));
    auto status = done.status();
    if (!status.ok()) run->error = status.ToString();
  });
  return run;
}

const char* peer_join(Run* run, int64_t* batches, int64_t* rows) {
  if (run->thread.joinable()) run->thread.join();
  if (batches) *batches = run->batches;
  if (rows) *rows = run->rows;
  return run->error.c_str();
}

void peer_free(Run* run) { delete run; }

// ---- figures: nanoseconds a batch ----
double peer_bench_async(int64_t n, uint64_t queue_size, int columns) {
  Run consumer;
  auto future = arrow::CreateAsyncDeviceStreamHandler(&consumer.handler, arrow::internal::GetCpuThreadPool(), queue_size);
  auto schema = MakeBatch(1, columns)->schema();
  auto generator = Generator(n, 1, columns, -1);
  auto start = std::chrono::steady_clock::now();
  std::thread producer([&] {
    (void)arrow::ExportAsyncRecordBatchReader(schema, generator, arrow::DeviceAllocationType::kCPU, &consumer.handler)
        .status();
  });
  Drain(&consumer, future);
  double s = Seconds(start);
  producer.join();
  return consumer.batches == n ? s * 1e9 / static_cast<double>(n) : -1;
}

double peer_drain(void* stream) {
  auto* s = static_cast<ArrowDeviceArrayStream*>(stream);
  int64_t n = 0;
  auto start = std::chrono::steady_clock::now();
  ArrowDeviceArray array;
  for (;;) {
    if (s->get_next(s, &array) != 0) return -1;
    if (array.array.release == nullptr) break;
    array.array.release(&array.array);
    n++;
  }
  double t = Seconds(start);
  s->release(s);
  return t * 1e9 / static_cast<double>(n);
}

double peer_bench_stream(int64_t n, int64_t rows, int columns) {
  arrow::RecordBatchVector batches(static_cast<size_t>(n), MakeBatch(rows, columns));
  auto reader = arrow::RecordBatchReader::MakeFromIterator(
      arrow::MakeVectorIterator(batches), batches[0]->schema(), arrow::DeviceAllocationType::kCPU);
  ArrowDeviceArrayStream stream;
  memset(&stream, 0, sizeof stream);
  if (!reader.ok() || !arrow::ExportDeviceRecordBatchReader(*reader, &stream).ok()) return -1;
  return peer_drain(&stream);
}
}
